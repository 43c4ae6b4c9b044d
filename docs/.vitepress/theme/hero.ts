/** The beginning of the home page: one sentence, three ways in, and the picture, which plays once. Its words are those of `index.md`. */

import { useData, withBase } from 'vitepress'
import { defineComponent, h } from 'vue'
import dark from '../../pictures/hero-f-dark-moving.svg?no-inline'
import light from '../../pictures/hero-f-light-moving.svg?no-inline'
import narrowDark from '../../pictures/hero-f-narrow-dark-moving.svg?no-inline'
import narrowLight from '../../pictures/hero-f-narrow-light-moving.svg?no-inline'

interface Words {
  readonly headline: string
  readonly lead: string
  readonly ways: readonly { readonly text: string; readonly link: string }[]
  /** What the picture shows. */
  readonly picture: string
  readonly caption: string
}

export const Hero = defineComponent(() => {
  const { frontmatter } = useData()
  const { headline, lead, ways, picture, caption }: Words = frontmatter.value.first
  return () =>
    h('div', { class: 'first' }, [
      h('div', [
        h('h1', headline),
        h('p', { class: 'lead' }, lead),
        h(
          'p',
          { class: 'ways' },
          ways.map(({ text, link }) => h('a', { class: 'way', href: withBase(link) }, text)),
        ),
      ]),
      h('figure', [
        drawing('on-light', light, narrowLight, picture),
        drawing('on-dark', dark, narrowDark, picture),
        h('figcaption', caption),
      ]),
    ])
})

/** A phone has room for the narrow form only. The sizes keep the place until the picture is there. */
const drawing = (scheme: string, wide: string, narrow: string, alt: string) =>
  h('picture', { class: scheme }, [
    h('source', { media: '(max-width: 560px)', srcset: narrow, width: 358, height: 328 }),
    h('img', { src: wide, width: 960, height: 473, alt }),
  ])
