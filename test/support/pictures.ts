import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { launch } from './launch-browser.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';

/** Takes the screenshots of the README, with a gateway and the demo's data. Run this file directly. */
async function takePictures(): Promise<void> {
  const env = { ...process.env, PORT: '4890', DATA_DIR: temporaryFolder('pictures'), LOG_LEVEL: 'silent' };
  const gateway = spawn(process.execPath, ['src/main.ts'], { env, stdio: 'ignore' });
  const browser = await launch();
  try {
    const url = `http://127.0.0.1:${env.PORT}`;
    await until(
      () =>
        fetch(`${url}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      60_000,
    );
    execFileSync(process.execPath, ['src/commands/demo.ts'], { env });
    for (const colorScheme of ['light', 'dark'] as const) {
      const viewport = { width: 1200, height: 860 };
      const page = await browser.newPage({ viewport, colorScheme, deviceScaleFactor: 1.5 });
      await page.goto(`${url}/console#/fleets`);
      await page.getByRole('link', { name: 'Pool cars' }).click();
      await page.getByLabel('Manufacturer').selectOption('BMW');
      await page.getByText('60 vehicles').waitFor();
      await page.mouse.move(0, 0);
      // Waits for a bar in which some vehicles have their answer and others are pending.
      await page.getByRole('img', { name: /\d+ eligible, \d+ pending, \d+ not eligible/ }).waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      await page.screenshot({ path: fileURLToPath(new URL(`../../docs/console-${colorScheme}.png`, import.meta.url)) });
    }
  } finally {
    await browser.close();
    gateway.kill();
    await once(gateway, 'exit');
  }
}

await takePictures();
