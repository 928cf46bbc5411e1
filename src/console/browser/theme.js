// A plain script that runs before the first paint; modules run later.
document.documentElement.dataset.theme = localStorage.getItem('fleet-gateway-theme') ?? 'system';
