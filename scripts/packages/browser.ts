/** Bundles a whole agent and runs it with the globals of a browser and without Node. */

import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { rolldown } from 'rolldown'

/** The globals of a page, as far as the app uses them. */
const WEB = `
  AbortController AbortSignal Blob DOMException Event EventTarget File FormData Headers ReadableStream Request Response
  TextDecoder TextEncoder TransformStream URL URLSearchParams WritableStream atob btoa clearInterval clearTimeout
  console crypto navigator performance queueMicrotask setInterval setTimeout structuredClone
`

export async function runInBrowser(folder: string): Promise<void> {
  const input = join(folder, 'browser-app.mjs')
  await copyFile(join(import.meta.dirname, 'browser-app.mjs'), input)
  const build = await rolldown({
    input,
    platform: 'browser',
    logLevel: 'silent',
    external: (id) => id.startsWith('node:'),
  })
  const { code, imports } = (await build.generate({ format: 'iife' })).output[0]
  await build.close()
  if (imports.length > 0) throw new Error(`the bundle imports ${imports.join(', ')}`)

  const web: Record<string, unknown> = {}
  for (const name of WEB.trim().split(/\s+/)) web[name] = Reflect.get(globalThis, name)
  const answer: unknown = await runInContext(`${code}\n;globalThis.answer`, createContext(web), {
    filename: 'bundle.js',
  })
  if (answer !== 'Sunny in Oslo. 2') throw new Error(`the agent answered: ${String(answer)}`)
}
