import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { programAt } from '@meanwhile/tests/programs'
import { expect, onTestFinished, test } from 'vitest'
import { fileOf } from '../test/recorded.ts'
import type { RunList } from './server/api.ts'

const PROGRAM = programAt(new URL('./devtools-process.ts', import.meta.url))

const command = (...args: readonly string[]) => commandWith({}, ...args)

function commandWith(env: NodeJS.ProcessEnv, ...args: readonly string[]) {
  const options = { env: { ...process.env, ...env } }
  const child = spawn(process.execPath, [PROGRAM, ...args], options)
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const ended = once(child, 'close')
  return { child, ended, output: () => output }
}

/** The page is built by another command. */
async function pageIsThere(): Promise<void> {
  const page = join(import.meta.dirname, '../dist/page')
  await mkdir(page, { recursive: true })
  for (const name of ['index.html', 'page.js', 'page.css', 'icon.svg'])
    await writeFile(join(page, name), '', { flag: 'a' })
}

test('the command prints its address and the two lines to paste, shows files, and ends by Ctrl-C (DT7)', async () => {
  await pageIsThere()
  const { child, ended, output } = command('--port', '0', fileOf('trip'))
  while (!output().includes('CAPTURE')) await once(child.stdout, 'data')
  const url = /http:\/\/localhost:\d+/.exec(output())?.[0] ?? ''
  expect(output()).toContain(`export OTEL_EXPORTER_OTLP_ENDPOINT=${url}\n`)
  expect(output()).not.toContain('Lisbon')
  const { runs } = (await (await fetch(`${url}/api/runs`)).json()) as RunList
  expect(runs.map(({ agent }) => agent)).toEqual(['trip_planner'])
  child.kill('SIGINT')
  expect(await ended).toEqual([0, null])
})

test('wrong options are an error with the help, a missing file is one sentence, and --help is not an error (DT7)', async () => {
  const cases = [
    [['--help'], 0, /^meanwhile-devtools .*\n\nShows the runs of agents/],
    [['--port', 'x'], 2, /^--port must be a number from 0 to 65535, not x\n\nmeanwhile-devtools /],
    [['--allow-origin', 'x'], 2, /^--allow-origin must be an address .*\n\nmeanwhile-devtools /],
    [['--host', '0.0.0.0'], 2, /^Unknown option '--host'.*\n\nmeanwhile-devtools /],
    [['--port', '0', 'nothing.json'], 1, /^nothing.json cannot be read: there is no such file\n$/],
  ] as const
  await pageIsThere()
  for (const [args, code, words] of cases) {
    const { ended, output } = command(...args)
    expect([await ended, output()]).toEqual([[code, null], expect.stringMatching(words)])
  }
})

test('if no browser can be opened, one sentence says so and the page is served (DT7)', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-path-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await pageIsThere()
  const open = async () => {
    const { child, output } = commandWith({ PATH: folder }, '--port', '0', '--open')
    const sentence = /^No browser could be opened\. Open (http:\S+) yourself\.$/m
    while (!sentence.test(output())) await once(child.stderr, 'data')
    const [, url = ''] = sentence.exec(output()) ?? []
    expect((await fetch(url)).status).toBe(200)
  }
  // There is no command that opens one; then there is one, but it fails.
  await open()
  for (const name of ['open', 'xdg-open']) await writeFile(join(folder, name), '#!/bin/sh\nexit 3\n', { mode: 0o755 })
  await open()
})
