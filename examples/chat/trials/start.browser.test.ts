import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { launchBrowser } from './browser.ts'

const START = join(import.meta.dirname, '../start.ts')

let folder: string
const started: ChildProcess[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meanwhile-chat-'))
})

afterEach(async () => {
  for (const program of started.splice(0)) program.kill('SIGKILL')
  await rm(folder, { recursive: true })
})

/** `npm run chat` without a key. */
function start(options: readonly string[], { OPENAI_API_KEY: _, ANTHROPIC_API_KEY: __, ...env } = process.env) {
  const program = spawn(process.execPath, ['--conditions=@meanwhile/source', START, ...options], { env })
  started.push(program)
  return program
}

test('npm run chat builds the page, says where it is, needs no key, and Ctrl-C in the middle of an answer leaves only the conversations', async () => {
  const program = start(['--database', join(folder, 'chat.db')])
  const [line] = await once(program.stdout.setEncoding('utf8'), 'data')
  const [, url = ''] = /^The chat is at (\S+) /.exec(line) ?? []
  const browser = await launchBrowser()
  try {
    const page = await browser.newPage()
    await page.goto(url)
    await page.getByRole('button', { name: 'Where shall we have dinner?' }).click()
    await page.getByRole('button', { name: 'Noodle House' }).click()
    await page.getByText('Noodle House it is.').waitFor()
    await page.getByRole('button', { name: 'Send' }).waitFor()
    await page.getByLabel('Message', { exact: true }).fill('Tell me a story.')
    await page.keyboard.press('Enter')
    await page.getByText('lighthouse').waitFor()
    const ended = Promise.all([once(program, 'exit'), text(program.stderr)])
    program.kill('SIGINT')
    expect(await ended).toEqual([[0, null], ''])
    expect(await readdir(folder)).toEqual(['chat.db'])
  } finally {
    await browser.close()
  }
})

test('npm run chat -- --postgres starts two servers with the same threads, and Ctrl-C ends everything that it has started', async () => {
  const { DATABASE_URL: _, ...rest } = process.env
  const program = start(['--postgres'], rest)
  const [line] = await once(program.stdout.setEncoding('utf8'), 'data')
  const urls = String(line).match(/http:\/\/localhost:\d+/g) ?? []
  expect(urls).toHaveLength(2)
  const browser = await launchBrowser()
  try {
    const page = await browser.newPage()
    await page.goto(`${urls[0]}/#dinner`)
    await page.getByRole('button', { name: 'Where shall we have dinner?' }).click()
    await page.getByRole('button', { name: 'Noodle House' }).waitFor()
    await page.goto(`${urls[1]}/#dinner`)
    await page.getByRole('button', { name: 'Noodle House' }).click()
    await page.getByText('Noodle House it is.').waitFor()
    const ended = Promise.all([once(program, 'exit'), text(program.stderr)])
    program.kill('SIGINT')
    expect(await ended).toEqual([[0, null], ''])
    for (const url of urls) await expect(fetch(url)).rejects.toThrow()
  } finally {
    await browser.close()
  }
})

test('npm run chat says what it can, and refuses a port that is none', async () => {
  const help = start(['--help'])
  expect(await text(help.stdout)).toContain('--port')
  for (const wrong of [
    ['--port', '70000'],
    ['--prot', '1'],
  ]) {
    const refused = start(wrong)
    const [said, [code]] = await Promise.all([text(refused.stderr), once(refused, 'exit')])
    expect(said).toMatch(/--pr?o?r?t/)
    expect(code).toBe(2)
  }
})
