// Measures the shape of core: its size, and how much of it one tool call enters. Fails if a figure is above its limit in scripts/shape/held.json, or if a
// shape that two copies of the packages share changes without another number of its format.
import { parseArgs } from 'node:util'
import { FIGURES, MEANINGS, measure } from './shape/figures.ts'
import { currentFormat, formatComplaints, readFormat, writeFormat } from './shape/formats.ts'
import { complaints, readHeld, table, tightened, writeHeld } from './shape/held.ts'

const HELP = `Usage: npm run check:shape -- [options]

  --write            lower the limits to the current figures
  --list <figure>    list what a figure counts, and check nothing

To raise a limit, change it in scripts/shape/held.json, and say why in the message of the commit. The figures:

${FIGURES.map((name) => `  ${name}: ${MEANINGS[name]}`).join('\n')}`

const { values } = parseArgs({
  options: { help: { type: 'boolean' }, write: { type: 'boolean' }, list: { type: 'string' } },
})
const listed = FIGURES.find((name) => name === values.list)
if (values.help) console.log(HELP)
else if (values.list !== undefined && listed === undefined) {
  console.error(`no figure is called ${values.list}; the figures are ${FIGURES.join(', ')}`)
  process.exitCode = 2
} else process.exitCode = await check()

async function check(): Promise<number> {
  const shape = await measure()
  if (listed !== undefined) {
    console.log([...shape[listed].places, `${listed}: ${shape[listed].value}`].join('\n'))
    return 0
  }
  const held = values.write ? tightened(readHeld(), shape) : readHeld()
  console.log(table(held, shape))
  const format = currentFormat()
  if (values.write) {
    writeHeld(held)
    if (format.format !== readFormat().format) writeFormat(format)
  }
  const wrong = [...complaints(held, shape), ...formatComplaints(readFormat(), format)]
  for (const line of wrong) console.error(line)
  return wrong.length === 0 ? 0 : 1
}
