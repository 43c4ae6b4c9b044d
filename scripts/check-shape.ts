// Measures the shape of core: size, state, and how much code one tool call enters. Fails if a figure is above its limit in scripts/shape/held.json,
// or if a shape that two copies of the packages share changes without another number of its format. With --write the limits are lowered to the current figures.
import { currentFormat, formatComplaints, readFormat, writeFormat } from './shape/formats.ts'
import { complaints, lowerable, readHeld, tightened, writeHeld } from './shape/held.ts'
import { measure } from './shape/measure.ts'
import { helpText, OptionError, type ShapeOptions, shapeOptions } from './shape/options.ts'
import { meanings, shapeTable } from './shape/table.ts'

async function check({ write, list }: ShapeOptions): Promise<number> {
  const shape = await measure()
  if (list !== undefined) {
    console.log([...shape[list].places, `${list}: ${shape[list].value}`].join('\n'))
    return 0
  }
  const held = write ? tightened(readHeld(), shape) : readHeld()
  if (write) writeHeld(held)
  console.log(`${shapeTable(shape, held)}\n\nWhat is counted\n${meanings()}`)
  const lower = lowerable(held, shape)
  if (lower.length > 0)
    console.log(`\nBelow the limit: ${lower.join(', ')}. --write lowers the limits to these figures.`)
  const format = currentFormat()
  if (write && format.format !== readFormat().format) writeFormat(format)
  const wrong = [...complaints(held, shape), ...formatComplaints(readFormat(), format)]
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
  console.error(`error: ${error.message} (see --help)`)
  process.exitCode = 2
}
