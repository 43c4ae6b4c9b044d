// Prints what has failed in the stages of `.ci/run`, for the end of its output, which may be all that is read: node scripts/print-failures.ts FOLDER
import { failuresIn } from './failures/failures.ts'

for (const line of failuresIn(process.argv[2] ?? '')) console.log(line)
