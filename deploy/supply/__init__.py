"""The supply chain: the list of shipped packages (SBOM) and their known vulnerabilities."""
