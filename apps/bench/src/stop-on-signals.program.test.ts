import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'

const PROGRAM = `
  import { stopOnSignals } from ${JSON.stringify(new URL('./stop-on-signals.ts', import.meta.url).href)}
  const stop = new AbortController()
  const stopping = stopOnSignals(stop)
  const busy = setInterval(() => {}, 1_000)
  stop.signal.onabort = () => setTimeout(() => {
    if (process.argv[1] === 'ends') { clearInterval(busy); stopping[Symbol.dispose](); console.log('cleaned up after', stop.signal.reason) }
    else console.log('hangs')
  }, 300)
  console.log('at work')
`

test.each(['SIGINT', 'SIGTERM'] as const)(
  'a %s that arrives twice within a second does not interrupt the cleanup',
  async (name) => {
    const { child, said, ended } = await atWork('ends')
    child.kill(name)
    await sleep(100)
    child.kill(name)
    expect(await ended).toEqual([0, null])
    expect(said()).toBe(`at work\ncleaned up after ${name}\n`)
  },
)

test('a second signal after more than a second ends the process at once', async () => {
  const { child, ended } = await atWork('hangs')
  child.kill('SIGINT')
  // Its second begins when it has heard the first one.
  await once(child.stdout, 'data')
  await sleep(1_500)
  expect(child.exitCode ?? child.signalCode).toBeNull()
  child.kill('SIGINT')
  expect(await ended).toEqual([null, 'SIGINT'])
})

async function atWork(how: 'ends' | 'hangs') {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM, how], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'close')
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (more: string) => (text += more))
  await once(child.stdout, 'data')
  return { child, said: () => text, ended }
}
