/** A program that has a connection to a server which ignores that its input has ended, and every signal that it may ignore. */

import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { mcp } from '../src/index.ts'

const [program = '', PIDS = ''] = process.argv.slice(2)
const servers = mcp({ servers: { stubborn: { command: process.execPath, args: [program], env: { PIDS } } } })
await createAgent({ model: scriptedModel([respond(say('done'))]), middleware: [servers] }).run('Go')
process.stdout.write('connected\n')
setInterval(() => {}, 1_000)
