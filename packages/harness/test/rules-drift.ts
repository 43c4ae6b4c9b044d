// Compares the members that the rules know with the types of both clients: `npm run rules:drift -- FOLDER`, where FOLDER is the node_modules
// of newer clients. Default: that of this repository. Prints the differences, and the rules whose sources are older than a year.
import { rules } from '../src/rules.ts'
import { drift } from './drift.ts'

const [folder = 'node_modules'] = process.argv.slice(2)
const lines = drift(folder)
console.log(lines.length === 0 ? 'The members are those of the types.' : lines.join('\n'))

const year = new Date()
year.setFullYear(year.getFullYear() - 1)
const oldest = year.toISOString().slice(0, 'yyyy-mm'.length)
for (const { id, sure, sources } of rules)
  if (sources.every(({ seen }) => seen < oldest)) console.log(`${id} (${sure}) was last seen in ${sources[0]?.seen}`)
