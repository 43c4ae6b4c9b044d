/** A worker of durable turns, which a test kills: its arguments are the URL of the database and the file that it notes in. */

import { appendFileSync } from 'node:fs'
import { openThreads } from './boss-threads.ts'

const [url = '', path = ''] = process.argv.slice(2)
const { runs } = await openThreads(url, (text) => appendFileSync(path, `${text}\n`))
await runs.work({ concurrency: 4 })
// It dies with its test.
process.on('disconnect', () => process.exit())
process.send?.('ready')
