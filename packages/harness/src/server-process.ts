/** The program of the server's child process: it executes the parent's requests over IPC and ends with the parent. */

import { HarnessError } from './errors.ts'
import { type ModelServer, type Served, type ServedOptions, serveModels } from './serve-models.ts'

export type Question =
  | { readonly ask: 'serve'; readonly options: ServedOptions & { readonly precise?: boolean } }
  | { readonly ask: 'load'; readonly options: ServedOptions }
  | { readonly ask: 'log' | 'requests' | 'assertComplete' | 'close'; readonly url: string }

export interface Reply {
  readonly id: number
  readonly value?: unknown
  readonly error?: string
}

const scripts = new Map<string, Served>()
let server: ModelServer | undefined

process.on('disconnect', () => process.exit())
process.on('message', (question: Question & { readonly id: number }) => {
  const { id } = question
  answer(question).then(
    (value) => reply({ id, value }),
    (error: unknown) => reply({ id, error: error instanceof Error ? error.message : String(error) }),
  )
})

async function answer(question: Question): Promise<unknown> {
  if (question.ask === 'serve') {
    server = await serveModels(question.options)
    return keep(server)
  }
  if (question.ask === 'load') {
    if (!server) throw new HarnessError('no script is served yet')
    return keep(await server.load(question.options))
  }
  const served = scripts.get(question.url)
  if (!served) throw new HarnessError(`${question.url} is not served`)
  if (question.ask === 'close') scripts.delete(question.url)
  return served[question.ask]()
}

function keep(served: Served): string {
  scripts.set(served.url, served)
  return served.url
}

function reply(message: Reply): void {
  process.send?.(message)
}
