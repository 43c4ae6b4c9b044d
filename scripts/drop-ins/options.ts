/** The command line of `npm run check:drop-ins`. */

import { parseArgs } from 'node:util'
import { LIBRARIES } from './libraries.ts'

export interface DropInsOptions {
  /** The checkout. */
  readonly path: string
  /** Whether the models of the tests speak at a pace, so that calls do start early. */
  readonly paced: boolean
}

/** The command line cannot be understood. */
export class OptionError extends Error {
  override readonly name = 'OptionError'
}

export function helpText(): string {
  return `Usage: npm run check:drop-ins -- <path> [options]

Runs the tests of a library as they are, and again with our drop-in spliced in and every tool declared 'read'. The path is a
checkout of the library in which its dependencies are installed, and its packages built as far as its tests need them.
The exit code is 1 if a test fails only with the drop-in and is not on the list in scripts/drop-ins/allowed.ts, and 2 for a
wrong option or path.

Options
  --paced   the models of the tests speak at a pace, with and without the drop-in: most of them say everything at once, and
            then hardly a call can start early (${paceable()} only)
  --help    show this

Libraries
${LIBRARIES.map(({ repository, packageName }) => `  ${repository} (${packageName})`).join('\n')}`
}

function paceable(): string {
  return LIBRARIES.filter(({ canPace }) => canPace)
    .map(({ repository }) => repository)
    .join(', ')
}

/** @throws {OptionError} */
export function dropInsOptions(args: readonly string[]): DropInsOptions | 'help' {
  const { values, positionals } = parsed(args)
  if (values.help) return 'help'
  const [path, ...more] = positionals
  if (path === undefined) throw new OptionError('name the path of a checkout')
  if (more.length > 0) throw new OptionError(`one path is checked at a time, not ${positionals.join(' and ')}`)
  return { path, paced: values.paced ?? false }
}

function parsed(args: readonly string[]) {
  try {
    const options = { help: { type: 'boolean' }, paced: { type: 'boolean' } } as const
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}
