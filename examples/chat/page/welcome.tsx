import { earlierChats } from './kept.ts'

/** Requests that the script of the demo knows, and what each shows. */
const SUGGESTIONS = {
  'Plan a weekend in Lisbon': 'a slow tool, then text: early tools save most',
  'What is the weather in Rome and Oslo?': 'two tools, then text',
  'Write a mail to ada@example.org': 'asks you first',
  'Tell me a story': 'no tools: nothing to save',
}

export function Welcome({ onSay }: { readonly onSay: (text: string) => Promise<void> }) {
  return (
    <section className="welcome">
      <h2>Tools run while the model is still writing.</h2>
      <p>
        Ask with early tools on, then off, and compare the times. Press Stop, reload, edit, even kill the server: the
        conversation goes on.
      </p>
      <ul>
        {Object.entries(SUGGESTIONS).map(([text, why]) => (
          <li key={text}>
            <button type="button" className="plain" onClick={() => void onSay(text)}>
              {text}
              <small>{why}</small>
            </button>
          </li>
        ))}
      </ul>
      <nav aria-label="Earlier">
        {earlierChats().map(({ id, title }) => (
          <a key={id} href={`#${id}`}>
            {title}
          </a>
        ))}
      </nav>
    </section>
  )
}
