/** Runs a compiler, which fails if it finds errors. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

/**
 * Returns what the compiler prints, whether it finds errors or not.
 *
 * @throws {Error} It was killed, or ended in another way that says nothing about the files.
 */
export async function run(command: string, args: readonly string[]): Promise<string> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [stdout, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'close')])
  if (code !== 0 && ((code !== 1 && code !== 2) || stdout === ''))
    throw new Error(`${args.join(' ')} ended with ${String(signal ?? code)}\n${stdout}`)
  return stdout
}
