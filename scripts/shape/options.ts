/** The command line of `npm run check:shape`. */

import { parseArgs } from 'node:util'
import { FIGURE_NAMES, type FigureName } from './figures.ts'
import { meanings } from './table.ts'

export interface ShapeOptions {
  readonly help: boolean
  readonly write: boolean
  /** The figure whose items are listed; nothing is checked. */
  readonly list?: FigureName
}

/** The command line is not valid. */
export class OptionError extends Error {
  override readonly name = 'OptionError'
}

export function helpText(): string {
  return `Usage: npm run check:shape -- [options]

Measures the shape of packages/core and compares it with the limits in scripts/shape/held.json. The exit code is 1 if a
figure is above its limit, and 2 for a wrong option. To raise a limit, change it in that file, and say why in the message
of the commit.

Options
  --write            lower the limits to the current figures
  --list <figure>    list what a figure counts, and check nothing
  --help             show this

Figures
${meanings()}`
}

/** @throws {OptionError} */
export function shapeOptions(args: readonly string[]): ShapeOptions {
  const { help = false, write = false, list } = parsed(args)
  const figure = FIGURE_NAMES.find((name) => name === list)
  if (list !== undefined && figure === undefined) {
    throw new OptionError(`no figure is called ${list}; the figures are ${FIGURE_NAMES.join(', ')}`)
  }
  if (figure !== undefined && write) throw new OptionError('--list cannot be combined with --write')
  return { help, write, ...(figure !== undefined && { list: figure }) }
}

function parsed(args: readonly string[]) {
  try {
    const options = { help: { type: 'boolean' }, write: { type: 'boolean' }, list: { type: 'string' } } as const
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}
