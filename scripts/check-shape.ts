// The shape of core: circles of imports, size, state, and what one tool call enters. Fails where a figure is above what is held in
// scripts/shape/held.json. With --write lower figures become what is held; with a reason, higher ones too.
import { complaints, lowerable, readHeld, tightened, writeHeld } from './shape/held.ts'
import { measure } from './shape/measure.ts'
import { helpText, OptionError, type ShapeOptions, shapeOptions } from './shape/options.ts'
import { meanings, shapeTable } from './shape/table.ts'

async function check({ write, raise, list }: ShapeOptions): Promise<number> {
  const shape = await measure()
  if (list !== undefined) {
    console.log([...shape[list].places, `${list}: ${shape[list].value}`].join('\n'))
    return 0
  }
  const held = write ? tightened(readHeld(), shape, raise) : readHeld()
  if (write) writeHeld(held)
  console.log(`${shapeTable(shape, held)}\n\nWhat is counted\n${meanings()}`)
  const lower = lowerable(held, shape)
  if (lower.length > 0)
    console.log(`\nLower than what is held: ${lower.join(', ')}. --write holds them as they are now.`)
  const wrong = complaints(held, shape)
  if (wrong.length === 0) return 0
  console.error(`\nFailed:\n${wrong.map((line) => `  ${line}`).join('\n')}`)
  return 1
}

try {
  const options = shapeOptions(process.argv.slice(2))
  if (options.help) console.log(helpText())
  else process.exitCode = await check(options)
} catch (error) {
  if (!(error instanceof OptionError)) throw error
  console.error(`error: ${error.message} (--help says what there is)`)
  process.exitCode = 2
}
