/** The command line of `npm run check:drop-ins`. */

import { parseArgs } from 'node:util'
import { LIBRARIES } from './libraries.ts'
import type { Added } from './splice/wraps.ts'

export interface DropInsOptions {
  /** The checkout. */
  readonly path: string
  /** Whether the models of the tests stream at a pace, so that calls do start early. */
  readonly paced: boolean
  /** What is added to the functions of the library. */
  readonly add: keyof Added
  /** The time limit for both runs of the tests together. */
  readonly minutes: number
}

/** The command line is not valid. */
export class OptionError extends Error {
  override readonly name = 'OptionError'
}

const MINUTES = 30

export function helpText(): string {
  return `Usage: npm run check:drop-ins -- <path> [options]

Runs the tests of a library unchanged, and again with eager() added and every tool declared 'read'. The path is a
checkout of the library. Its dependencies must be installed, and its packages built as far as its tests need them.
The exit code is 1 if a test fails only with it and is not on the list in scripts/drop-ins/allowed.ts, 2 for a wrong
option or path, and 3 if the time is up. Ctrl-C ends all started processes, and removes all written files.

Options
  --paced        the models of the tests stream at a pace, with and without the drop-in: most of them send everything at once,
                 and then hardly any call can start early
  --resilient    instead of eager(), resilient([model]) round the model of each call; only for vercel/ai
  --minutes <n>  the time limit for both runs of the tests together (default ${MINUTES})
  --help         show this

Libraries
${LIBRARIES.map(({ repository, packageName }) => `  ${repository} (${packageName})`).join('\n')}`
}

/** @throws {OptionError} */
export function dropInsOptions(args: readonly string[]): DropInsOptions | 'help' {
  const { values, positionals } = parsed(args)
  if (values.help) return 'help'
  const [path, ...more] = positionals
  if (path === undefined) throw new OptionError('name the path of a checkout')
  if (more.length > 0) throw new OptionError(`only one path can be checked at a time, not ${positionals.join(' and ')}`)
  return {
    path,
    paced: values.paced ?? false,
    add: values.resilient ? 'resilient' : 'eager',
    minutes: minutesOf(values.minutes),
  }
}

function minutesOf(given: string | undefined): number {
  const minutes = given === undefined ? MINUTES : Number(given)
  if (!(minutes >= 1 && minutes <= MOST_MINUTES))
    throw new OptionError(`--minutes must be a number from 1 to ${MOST_MINUTES}, not ${given}`)
  return minutes
}

/** A day. */
const MOST_MINUTES = 24 * 60

function parsed(args: readonly string[]) {
  try {
    const options = {
      help: { type: 'boolean' },
      paced: { type: 'boolean' },
      resilient: { type: 'boolean' },
      minutes: { type: 'string' },
    } as const
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}
