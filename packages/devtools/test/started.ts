/** A devtools server for a test, with the page that is in a folder of the test. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Devtools, type DevtoolsOptions, startDevtools } from '../src/start-devtools.ts'

/** Stopped at the end of the test. The page is a stand-in: it needs no build. */
export async function started(options: DevtoolsOptions = {}): Promise<Devtools> {
  const page = await mkdtemp(join(tmpdir(), 'meanwhile-page-'))
  onTestFinished(() => rm(page, { recursive: true }))
  for (const name of ['index.html', 'page.js', 'page.css', 'icon.svg']) await writeFile(join(page, name), name)
  const devtools = await startDevtools({ port: 0, page, ...options })
  onTestFinished(() => devtools.close())
  return devtools
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Buffer
}

export interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string
  /** The address to connect to, if it is not that of the URL. */
  readonly address?: string
}

/** A request with any headers: `fetch` sets `Host` by itself. */
export function send(url: string, { method = 'GET', headers = {}, body, address }: Sent = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { hostname, port, pathname, search } = new URL(url)
    const to = { host: address ?? hostname, port, path: pathname + search, method, headers }
    const sending = request({ ...to, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('error', reject)
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) })
      })
    })
    sending.on('error', reject)
    sending.end(body)
  })
}
