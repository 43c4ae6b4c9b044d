// An agent that reads a site: its pages are fetched in parallel, two at a time, and each call reports its progress.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { z } from 'zod'

const paths = ['/', '/prices', '/news', '/contact']
// The site: each page comes in five parts, with a little time between them.
async function* slowly(parts: readonly string[]) {
  for (const part of parts) {
    yield part
    await wait(40)
  }
}
const site = createServer(({ url = '' }, response) => {
  if (!paths.includes(url)) return void response.writeHead(404).end()
  const parts = [1, 2, 3, 4, 5].map((n) => `<p>Part ${n} of ${url}</p>`)
  response.writeHead(200, { 'content-type': 'text/html', 'content-length': parts.join('').length })
  Readable.from(slowly(parts)).pipe(response)
}).listen(0, '127.0.0.1')
await once(site, 'listening')
const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`

const fetchPage = tool({
  name: 'fetch_page',
  description: 'Fetches a page of the site and returns its text.',
  input: z.object({ path: z.string() }),
  effect: 'read',
  concurrency: 2,
  timeout: 5_000,
  async *execute({ path }, { signal }) {
    const response = await fetch(new URL(path, origin), { signal })
    if (!response.ok || !response.body) throw new Error(`${path}: ${response.status}`)
    const size = Number(response.headers.get('content-length'))
    let html = ''
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      html += chunk
      yield { progress: html.length / size, message: path }
    }
    return html.replaceAll(/<[^>]+>/g, ' ').trim()
  },
})

const pages = [...paths, '/missing'].map((path) => call('fetch_page', { path }))
const model = scriptedModel([respond(...pages), respond(say('Four pages were read, one is missing.'))])
const run = createAgent({ model, tools: [fetchPage] }).stream('What is on the site?')
for await (const event of run) {
  if (event.type === 'tool-progress') console.log(`${event.message} ${Math.round((event.progress ?? 0) * 100)} %`)
  if (event.type === 'tool-end') {
    const { startedAt = 0, endedAt = 0 } = run.toolStatus(event.callId) ?? {}
    console.log(`${event.message.isError ? 'failed' : 'read'}, ${(endedAt - startedAt).toFixed(0)} ms`)
  }
}
console.log((await run.result).text)
site.close()
