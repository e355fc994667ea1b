"use strict";
// Turns the film: one ladder at each place of its slider. Text only ever becomes a text node.

(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 620, LEFT = 44, RIGHT = 10, TOP = 12, PRICES = 270, HOLD = 56, GAP = 34;
  const HEIGHT = TOP + PRICES + GAP + HOLD + 26;
  const STEP_MS = 250;

  function shape(name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function made(root) {
    const told = JSON.parse(root.querySelector("script").textContent);
    const film = {
      ...told,
      group: root.dataset.film.split("-")[0],
      stage: root.querySelector(".stage"),
      slider: root.querySelector("input"),
      output: root.querySelector("output"),
      play: root.querySelector(".play"),
      timer: null,
    };
    film.held = Math.max(1, ...told.pictures.flatMap(([, , rows]) =>
      rows.map((row) => row === null ? 0 : Math.abs(row[6]))));
    film.slider.addEventListener("input", () => turn(film));
    film.play.addEventListener("click", () => film.timer === null ? start(film) : stop(film));
    paint(film);
    return film;
  }

  // Films of one group turn together, each to its picture of the nearest time.
  function turn(film) {
    paint(film);
    const at = film.pictures[film.slider.valueAsNumber][0];
    for (const other of films) {
      if (other === film || other.group !== film.group) continue;
      let nearest = 0;
      other.pictures.forEach(([each], place) => {
        if (Math.abs(each - at) < Math.abs(other.pictures[nearest][0] - at)) nearest = place;
      });
      other.slider.value = nearest;
      paint(other);
    }
  }

  function start(film) {
    if (film.slider.valueAsNumber >= film.pictures.length - 1) film.slider.value = 0;
    film.play.textContent = "Pause";
    film.timer = setInterval(() => {
      if (film.slider.valueAsNumber >= film.pictures.length - 1) return stop(film);
      film.slider.value = film.slider.valueAsNumber + 1;
      turn(film);
    }, STEP_MS);
  }

  function stop(film) {
    clearInterval(film.timer);
    film.timer = null;
    film.play.textContent = "Play";
  }

  const span = (seconds) => {
    const whole = Math.round(seconds), s = whole % 60, m = Math.floor(whole / 60) % 60;
    const h = Math.floor(whole / 3600);
    return h ? `${h} h ${m} min ${s} s` : m ? `${m} min ${s} s` : `${s} s`;
  };

  function paint(film) {
    const [seconds, phase, rows] = film.pictures[film.slider.valueAsNumber];
    const words = `after ${span(seconds)}, ${phase}`;
    film.output.textContent = words;
    film.slider.setAttribute("aria-valuetext", words);
    const drawing = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
      "aria-label": `The ladder ${words}` });
    const column = (WIDTH - LEFT - RIGHT) / film.rungs.length;
    const x = (place) => LEFT + column * (place + 0.5);
    const y = (price) => TOP + PRICES * (1 - price / 100);
    drawing.append(shape("rect", { class: "area", x: LEFT, y: TOP, width: WIDTH - LEFT - RIGHT,
      height: PRICES + GAP + HOLD }));
    for (let price = 0; price <= 100; price += 20) {
      drawing.append(shape("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(price),
        y2: y(price) }), shape("text", { x: LEFT - 6, y: y(price) + 4, "text-anchor": "end" },
      price));
    }
    axis(drawing, film, x, column);
    const known = rows.map((row, place) => ({ row, place })).filter(({ row }) => row !== null);
    bands(drawing, known, x, y);
    for (const { row, place } of known) rung(drawing, film, row, x(place), y, column);
    film.stage.replaceChildren(drawing);
  }

  function axis(drawing, film, x, column) {
    const zero = TOP + PRICES + GAP + HOLD / 2;
    drawing.append(shape("line", { class: "zero", x1: LEFT, x2: WIDTH - RIGHT, y1: zero, y2: zero }),
      shape("text", { x: LEFT - 6, y: zero + 4, "text-anchor": "end" }, "held"));
    const longest = Math.max(...film.rungs.map((each) => each.length));
    const every = Math.max(1, Math.ceil((longest * 6.5 + 6) / column));
    film.rungs.forEach((text, place) => {
      if (place % every === 0) {
        drawing.append(shape("text", { x: x(place), y: TOP + PRICES + 15,
          "text-anchor": "middle" }, text));
      }
    });
  }

  function bands(drawing, known, x, y) {
    const fairs = known.filter(({ row }) => row[0] !== null);
    if (!fairs.length) return;
    const edge = (each, sign) => Math.min(100, Math.max(0, each[0] + sign * 2 * (each[1] ?? 0)));
    const there = fairs.map(({ row, place }) => `${x(place)},${y(edge(row, 1))}`);
    const back = fairs.map(({ row, place }) => `${x(place)},${y(edge(row, -1))}`).reverse();
    if (fairs.length > 1) {
      drawing.append(shape("polygon", { class: "mark band", points: [...there, ...back].join(" ") }),
        shape("polyline", { class: "mark curve", points: fairs.map(({ row, place }) =>
          `${x(place)},${y(row[0])}`).join(" ") }));
    } else {
      drawing.append(shape("circle", { class: "mark fair", cx: x(fairs[0].place),
        cy: y(fairs[0].row[0]), r: 4 }));
    }
  }

  function rung(drawing, film, row, at, y, column) {
    const [, , bid, ask, ownBid, ownAsk, net] = row;
    const half = column * 0.3;
    if (bid !== null && ask !== null) {
      const top = Math.min(y(bid), y(ask));
      drawing.append(shape("rect", { class: "mark range", x: at - half, y: top, width: 2 * half,
        height: Math.max(1, Math.abs(y(bid) - y(ask))) }));
    }
    for (const [side, price] of [["bid", ownBid], ["ask", ownAsk]]) {
      if (price !== null) {
        drawing.append(shape("line", { class: `mark own ${side}`, x1: at - half * 1.2,
          x2: at + half * 1.2, y1: y(price), y2: y(price) }));
      }
    }
    if (net) {
      const zero = TOP + PRICES + GAP + HOLD / 2, high = HOLD / 2 * Math.abs(net) / film.held;
      drawing.append(shape("rect", { class: "mark hold", x: at - half, y: net > 0 ? zero - high : zero,
        width: 2 * half, height: Math.max(1, high) }));
      if (column > 24) {
        drawing.append(shape("text", { x: at, y: TOP + PRICES + GAP + HOLD + 14,
          "text-anchor": "middle" }, net > 0 ? `+${net}` : net));
      }
    }
  }

  const films = [...document.querySelectorAll(".film")].map(made);
})();
