#!/usr/bin/env node
/** The command `meanwhile-devtools`. */

import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'
import { startDevtools } from './start-devtools.ts'

const HELP = `meanwhile-devtools [--port 4318] [--open] [--allow-origin URL…] [FILE…]

Shows the runs of agents while they happen, on this machine only. It takes OTLP over HTTP.

  FILE            a run as OTLP JSON, as one document or one per line
  --port          default: 4318. 0: any free port
  --open          opens the page in your browser
  --allow-origin  lets a page of another server send spans, such as http://localhost:5173
  --help          shows this text

It ends by Ctrl-C, with the exit code 0. Other codes: 1 if it could not start (the port is in use, a file is not OTLP), 2 for wrong options.`

class UsageError extends Error {
  override readonly name = 'UsageError'
}

function given() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        port: { type: 'string', default: '4318' },
        open: { type: 'boolean', default: false },
        'allow-origin': { type: 'string', multiple: true, default: [] },
        help: { type: 'boolean', default: false },
      },
    })
    return { ...values, files: positionals }
  } catch (error) {
    throw new UsageError(messageOf(error), { cause: error })
  }
}

function portOf(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port < 65_536) return port
  throw new UsageError(`--port must be a number from 0 to 65535, not ${text}`)
}

function originOf(text: string): string {
  const origin = URL.parse(text)?.origin
  if (origin !== undefined && origin !== 'null') return origin
  throw new UsageError(`--allow-origin must be an address such as http://localhost:5173, not ${text}`)
}

async function main(): Promise<void> {
  const { port, open, help, files, 'allow-origin': origins } = given()
  if (help) return console.log(HELP)
  const devtools = await startDevtools({ port: portOf(port), allowOrigin: origins.map(originOf), files })
  console.log(`The page is at ${devtools.url} (Ctrl-C ends it). To send runs to it, from another terminal:

  export OTEL_EXPORTER_OTLP_ENDPOINT=${devtools.url}
  export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true   # with prompts, arguments and results`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void devtools.close())
  if (open) openBrowser(devtools.url)
}

function openBrowser(url: string): void {
  const [command = '', ...args] =
    process.platform === 'darwin' ? ['open'] : process.platform === 'win32' ? ['cmd', '/c', 'start'] : ['xdg-open']
  const failed = (): void => console.error(`No browser could be opened. Open ${url} yourself.`)
  spawn(command, [...args, url], { stdio: 'ignore', detached: true })
    .once('error', failed)
    .once('exit', (code) => code && failed())
    .unref()
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

main().catch((error: unknown) => {
  console.error(error instanceof UsageError ? `${error.message}\n\n${HELP}` : messageOf(error))
  process.exitCode = error instanceof UsageError ? 2 : 1
})
