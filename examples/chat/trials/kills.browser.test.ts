import { afterAll, beforeAll, expect, test } from 'vitest'
import { click, expectEqual, isQuiet, lastOf, say, startTrial, type Trial } from './chat-trial.ts'
import { STORY } from './model.ts'

let trial: Trial

beforeAll(async () => {
  trial = await startTrial()
})

afterAll(async () => {
  await trial?.[Symbol.asyncDispose]()
})

const mails = () => trial.printed.filter((line) => line.includes('a mail to')).length

test('a server that is killed in the middle of a text goes on with it, and the page comes back by itself (UI2, TH6)', async () => {
  const page = await trial.open('text')
  await say(page, 'story')
  await page.getByText('word9').waitFor()
  await trial.kill()
  await page.getByText('The server does not answer.').waitFor()
  await trial.restart()
  await page.getByText('word119').waitFor({ timeout: 20_000 })
  await isQuiet(page)
  expect(await lastOf(page)).toEqual([STORY])
  await expectEqual(trial, page, 'text')
})

test('a call that is at work when the server is killed is not made twice (UI2, TH6)', async () => {
  const page = await trial.open('tool')
  await say(page, 'mail')
  await click(page, 'Allow')
  await expect.poll(mails).toBe(1)
  await trial.kill()
  await trial.restart()
  await page.reload()
  await page.getByText('It says').waitFor({ timeout: 20_000 })
  await expectEqual(trial, page, 'tool')
  expect(mails()).toBe(1)
  expect((await lastOf(page))[1]).toBe('send_mail output-error')
})

test('a server that is killed at a question takes its answer after the restart, from the page as it is (UI2, TH6)', async () => {
  const page = await trial.open('question')
  const before = mails()
  await say(page, 'mail and weather, both')
  await page.getByRole('button', { name: 'Allow' }).waitFor()
  await isQuiet(page)
  await trial.kill()
  await trial.restart()
  await click(page, 'Allow')
  await page.getByText('It says').waitFor()
  await expectEqual(trial, page, 'question')
  expect(mails()).toBe(before + 1)
})

test('a page that is loaded again after a restart still has the question, with the results beside it (UI2, TH7)', async () => {
  const page = await trial.open('reload')
  const before = mails()
  await say(page, 'mail and weather, both')
  await page.getByRole('button', { name: 'Allow' }).waitFor()
  await page.getByText('Oslo: sunny').waitFor()
  await isQuiet(page)
  await trial.end()
  await trial.restart()
  await page.reload()
  await page.getByText('Oslo: sunny').waitFor()
  await expectEqual(trial, page, 'reload')
  await click(page, 'Allow')
  await page.getByText('It says').waitFor()
  await expectEqual(trial, page, 'reload')
  expect(mails()).toBe(before + 1)
})
