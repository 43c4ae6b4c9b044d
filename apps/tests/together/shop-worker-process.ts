/** A durable worker whose agent has the tools of an MCP server. Its test kills it. */

import { shopRuns } from './shop-runs.ts'

const [url = '', folder = ''] = process.argv.slice(2)
const { runs } = await shopRuns(url, folder)
await runs.work()
process.on('disconnect', () => process.exit())
process.send?.('ready')
