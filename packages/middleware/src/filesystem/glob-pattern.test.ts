import { posix } from 'node:path'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { globPattern } from './glob-pattern.ts'

test('a pattern matches whole paths, and stars stay within a name (N38)', () => {
  const matches = (pattern: string, ...paths: readonly string[]) => paths.filter(globPattern(pattern))
  const paths = ['a.ts', 'b.js', 'src/a.ts', 'src/deep/a.ts', '.github/ci.yml', 'a[1].ts', 'x+y.ts', 'src/a.tsx']
  expect(matches('*.ts', ...paths)).toEqual(['a.ts', 'a[1].ts', 'x+y.ts'])
  expect(matches('**/*.ts', ...paths)).toEqual(['a.ts', 'src/a.ts', 'src/deep/a.ts', 'a[1].ts', 'x+y.ts'])
  expect(matches('src/**', ...paths)).toEqual(['src/a.ts', 'src/deep/a.ts', 'src/a.tsx'])
  expect(matches('src/**/a.ts', ...paths)).toEqual(['src/a.ts', 'src/deep/a.ts'])
  expect(matches('**', ...paths)).toEqual(paths)
  expect(matches('**/*.{yml,js}', ...paths)).toEqual(['b.js', '.github/ci.yml'])
  expect(matches('{src/{a,b},x}*.ts*', ...paths)).toEqual(['src/a.ts', 'x+y.ts', 'src/a.tsx'])
  expect(matches('?.ts', ...paths)).toEqual(['a.ts'])
  expect(matches('[a-c].*', ...paths)).toEqual(['a.ts', 'b.js'])
  expect(matches('[!a].*', ...paths)).toEqual(['b.js'])
  expect(matches('a\\[1\\].ts', ...paths)).toEqual(['a[1].ts'])
  expect(matches('x+y.ts', ...paths)).toEqual(['x+y.ts'])
  expect(matches('src', ...paths)).toEqual([])
  expect(matches('a,b}', 'a,b}')).toEqual(['a,b}'])
  expect(matches('[!a]', '/')).toEqual([])
})

test('an invalid pattern is an error that states it', () => {
  for (const pattern of ['{a,b', '[z-a]', 'x'.repeat(251)]) expect(() => globPattern(pattern)).toThrow(SyntaxError)
})

test('it agrees with the glob of Node, for random patterns and paths', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '-'), minLength: 1, maxLength: 3 })
  const part = fc.constantFrom('*', '?', 'a', 'b', '-', '[ab]', '[!a]', '{a,b}', '{a,bb,*-}')
  const one = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''))
  const pattern = fc
    .array(fc.oneof({ weight: 3, arbitrary: one }, fc.constant('**')), { minLength: 1, maxLength: 3 })
    // Implementations differ in whether `a/**` matches `a` itself; for files it makes no difference.
    .filter((names) => names.at(-1) !== '**' && !names.join('/').includes('**/**'))
    .map((names) => names.join('/'))
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'))
  fc.assert(
    fc.property(pattern, path, (pattern, path) => {
      // Node treats two stars that are not a whole name differently; here they are like one star.
      fc.pre(!/[^/]\*\*|\*\*[^/]/.test(pattern))
      expect(globPattern(pattern)(path), `${pattern} ${path}`).toBe(posix.matchesGlob(path, pattern))
    }),
    propertyRuns({ small: 100, middle: 150, whole: 100_000 }),
  )
})

test('no pattern takes more than linear time: many stars over a long name that almost matches (N38)', () => {
  const matches = globPattern(`${'*a'.repeat(50)}b`)
  expect(matches('a'.repeat(4_000))).toBe(false)
  expect(globPattern(`${'{a,aa}'.repeat(40)}{*,**}x`)('a'.repeat(4_000))).toBe(false)
})
