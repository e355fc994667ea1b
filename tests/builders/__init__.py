"""What the tests are made with: worlds, servers, bodies, and pages made from tables."""
