/**
 * The search of the site: guides come first. What somebody looks for under another name has a sentence on the page *Looking for …*.
 * Decisions are for those who change the source, and the changes of a trial are not a guide: neither is in it.
 */

import type { DefaultTheme } from 'vitepress'

export const search: NonNullable<DefaultTheme.Config['search']> = {
  provider: 'local',
  options: {
    _render(source, env, md) {
      if (env.relativePath.startsWith('decisions/')) return ''
      // Without colours: to find them takes most of the time, and the index has only words.
      const { highlight } = md.options
      md.options.highlight = null
      const html = md.render(source, env)
      md.options.highlight = highlight
      return html
    },
    miniSearch: {
      searchOptions: {
        // It runs in the reader's browser, so it uses nothing from outside.
        boostDocument: (id: string) => {
          if (/\/looking-for/.test(id)) return 3
          if (/\/api\//.test(id)) return 0.3
          const isReference =
            /\/(packages|quirks|refusals|other-requests|sizes|server-costs|chat-clients|bench|architecture|threat-model)\b/.test(
              id,
            )
          return isReference ? 0.5 : 1
        },
      },
    },
  },
}
