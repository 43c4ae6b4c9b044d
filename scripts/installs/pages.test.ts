import { expect, test } from 'vitest'
import { pageOf, withTarballs } from './pages.ts'

const PAGE = [
  '# A page, with `npm install openai`',
  '```sh',
  'npm ci',
  'npm install @meanwhile/core zod@4   # version 4',
  'npm i --save-dev tsx',
  '```',
  '```ts',
  "import { tool } from '@meanwhile/core'",
  '```',
  '```ts',
  'tool()',
  '```',
  '',
].join('\n')

test('the install lines of a page are those of its shell blocks, without comments, and those in its text', () => {
  expect(pageOf(PAGE).installs).toEqual([
    'npm install @meanwhile/core zod@4',
    'npm i --save-dev tsx',
    'npm install openai',
  ])
})

test('the programs of a page are its blocks that import one of our packages', () => {
  expect(pageOf(PAGE).programs).toEqual([{ kind: 'ts', code: "import { tool } from '@meanwhile/core'\n", line: 8 }])
})

test('packages that are not released come from tarballs', () => {
  const tarballs = new Map([['@meanwhile/core', '/tmp/core.tgz']])
  expect(withTarballs('npm install @meanwhile/core @meanwhile/none zod', tarballs)).toBe(
    'npm install /tmp/core.tgz @meanwhile/none zod',
  )
})
