/** A worker of durable turns that a test kills. Its arguments: the URL of the database, and the file in which the agent records its actions. */

import { appendFileSync } from 'node:fs'
import { openThreads } from './boss-threads.ts'

const [url = '', path = ''] = process.argv.slice(2)
const { runs } = await openThreads(url, (text) => appendFileSync(path, `${text}\n`))
await runs.work({ concurrency: 4 })
// The worker ends with its test.
process.on('disconnect', () => process.exit())
process.send?.('ready')
