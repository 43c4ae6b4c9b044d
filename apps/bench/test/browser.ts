/** Starts a browser of this machine, for tests of a page. Nothing is downloaded. */

import { existsSync } from 'node:fs'
import { type Browser, chromium, type LaunchOptions } from 'playwright-core'

/** No browser was found, or none starts. */
export class NoBrowserError extends Error {
  override readonly name = 'NoBrowserError'

  constructor(cause: unknown) {
    super(
      'No Chromium or Chrome to test with: install one (`apt-get install chromium`, `brew install --cask chromium`), or name its program in the environment variable CHROMIUM.',
      { cause },
    )
  }
}

/** With a new profile. Rejects with a {@link NoBrowserError}. */
export async function launchBrowser(named = process.env.CHROMIUM): Promise<Browser> {
  try {
    return await chromium.launch({ ...program(named), args: ARGS })
  } catch (error) {
    throw new NoBrowserError(error)
  }
}

/** The named program, a Chromium at its usual path, or Chrome, whose paths the library knows. */
function program(named: string | undefined): LaunchOptions {
  const found = named || CHROMIUMS.find((path) => existsSync(path))
  return found ? { executablePath: found } : { channel: 'chrome' }
}

// The headless shell needs half of the time of the whole browser.
const CHROMIUMS: readonly string[] = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/snap/bin/chromium',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** It may run as root in a container, and must not ask questions. */
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
