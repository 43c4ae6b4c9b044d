import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CLIENTS } from './clients.ts'
import { FEATURES } from './features.ts'
import { PAGE, pageOf } from './table.ts'

test('the page has the table of the clients that are tried, and of what they cannot do (W34, W35, W36, W37, W38, W39)', () => {
  const all = new Set(Object.keys(FEATURES))
  expect(readFileSync(PAGE, 'utf8')).toBe(pageOf(new Map(Object.keys(CLIENTS).map((name) => [name, all]))))
})

test('the table names the versions that are installed (W37)', () => {
  const { devDependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as {
    devDependencies: Record<string, string>
  }
  const installed = Object.values(devDependencies).map((version) => version.replace(/^.*@/, ''))
  for (const name of Object.keys(CLIENTS)) expect(installed).toContain(/\d+\.\d+\.\d+/.exec(name)?.[0])
})
