/** The command line of `npm run check:shape`. */

import { parseArgs } from 'node:util'
import { FIGURE_NAMES, type FigureName } from './figures.ts'
import { meanings } from './table.ts'

export interface ShapeOptions {
  readonly help: boolean
  readonly write: boolean
  /** Why figures may be held above what they were. */
  readonly raise?: string
  /** The figure whose places are listed; nothing is checked. */
  readonly list?: FigureName
}

/** The command line cannot be understood. */
export class OptionError extends Error {
  override readonly name = 'OptionError'
}

export function helpText(): string {
  return `Usage: npm run check:shape -- [options]

Measures the shape of packages/core and compares it with what scripts/shape/held.json holds. The exit code is 1 if a
figure is above what is held, and 2 for a wrong option.

Options
  --write            hold figures that are lower now as they are now; without --raise no figure is ever held higher
  --raise <reason>   with --write: hold figures that are higher now as they are now, and keep the reason beside them
  --list <figure>    show what a figure counts, one by one, and check nothing
  --help             show this

Figures
${meanings()}`
}

/** @throws {OptionError} */
export function shapeOptions(args: readonly string[]): ShapeOptions {
  const { help = false, write = false, raise, list } = parsed(args)
  if (raise !== undefined && !write) throw new OptionError('--raise goes with --write')
  if (raise?.trim() === '') throw new OptionError('--raise takes a reason, which is kept beside the figure')
  const figure = FIGURE_NAMES.find((name) => name === list)
  if (list !== undefined && figure === undefined) {
    throw new OptionError(`there is no figure ${list}; there are ${FIGURE_NAMES.join(', ')}`)
  }
  if (figure !== undefined && write) throw new OptionError('--list writes nothing')
  return {
    help,
    write,
    ...(raise !== undefined && { raise: raise.trim() }),
    ...(figure !== undefined && { list: figure }),
  }
}

function parsed(args: readonly string[]) {
  try {
    const options = {
      help: { type: 'boolean' },
      write: { type: 'boolean' },
      raise: { type: 'string' },
      list: { type: 'string' },
    } as const
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}
