// Prints what has failed in the stages of `.ci/run`, where whoever sees only the end of the output sees it: node scripts/print-failures.ts FOLDER
import { failuresIn } from './failures/failures.ts'

for (const line of failuresIn(process.argv[2] ?? '')) console.log(line)
