import { expect, test } from 'vitest'
import { postedBy } from './own-thread.ts'

test('what a thread posts is returned, and one that throws or posts nothing is an error', async () => {
  const program = (code: string) => new URL(`data:text/javascript,${encodeURIComponent(code)}`)
  const posts = "import { parentPort, workerData } from 'node:worker_threads'\nparentPort.postMessage(workerData)"
  expect(await postedBy(program(posts), 7)).toBe(7)
  await expect(postedBy(program("throw new Error('broken')"))).rejects.toThrow('broken')
  await expect(postedBy(program(''))).rejects.toThrow('the file has ended without a message')
})
