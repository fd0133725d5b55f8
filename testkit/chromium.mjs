import { existsSync } from 'node:fs'

// Debian's headless shell first: the same browser without windows, which takes less CPU.
const paths = [
  process.env.CHROMIUM ?? '',
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Path of a Chromium of this machine, or the one that CHROMIUM names; null if there is none. */
export const chromiumPath = paths.find((one) => existsSync(one)) ?? null

/** Why browsers cannot be tested here; null when they can. */
export const noBrowser = chromiumPath ? null : 'no Chromium in /usr/bin; CHROMIUM names another'

/** Chromium's sandbox cannot start as root. */
export const chromiumArgs = process.getuid?.() === 0 ? ['--no-sandbox'] : []
