/** One check: prints a line with its outcome, and the error if it fails. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

/** The checks that failed, each with the first lines of its error. */
export const failures: string[] = []

const LINES_OF_ERROR = 3

/** Records the outcome of a check. An error is printed, and stops only later checks that need the result. */
export async function step<Result>(what: string, check: () => Result | Promise<Result>): Promise<Result | undefined> {
  try {
    const result = await check()
    console.log(`✓ ${what}`)
    return result
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    failures.push([what, ...why.split('\n').slice(0, LINES_OF_ERROR)].join('\n    '))
    console.log(`✗ ${what}\n${why}`)
    return undefined
  }
}

/** Runs a command and returns its output. Throws the output if the command fails. */
export async function output(command: string, args: readonly string[], cwd: string = process.cwd()): Promise<string> {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (code !== 0) throw new Error(`${command} ${args.join(' ')}: exit code ${code}\n${stdout}${stderr}`.trim())
  return stdout
}

/** Runs a command that must fail, and returns its output. */
export async function refusal(...[command, args, cwd]: Parameters<typeof output>): Promise<string> {
  try {
    await output(command, args, cwd)
  } catch (error) {
    return String(error)
  }
  throw new Error(`${command} ${args.join(' ')} did not fail`)
}

/** A check that runs a command. */
export const command = (
  what: string,
  name: string,
  args: readonly string[],
  cwd?: string,
): Promise<string | undefined> => step(what, () => output(name, args, cwd))
