/** The server as a process of its own, which can be killed: serve.ts PAGE FILE PORT */

import { startServer } from '../server.ts'

const [page = '', file = '', port = '0'] = process.argv.slice(2)
const server = await startServer({ page, file, port: Number(port) })
console.log(`listening ${server.url}`)
process.once('SIGTERM', () => void server.close())
