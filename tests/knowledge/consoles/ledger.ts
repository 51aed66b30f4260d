import minimist from 'minimist';
import { api, print } from './office';

// A program for the command line: verbs first, the rest by a library. Its name may be typed or left out.

const PROGRAM = 'ledger';
const EXPORTERS = new Set(['csv', 'pdf']);

/** Takes what was typed after the program's name. */
export async function main(): Promise<number> {
  const tokens = process.argv.slice(2);
  if (tokens[0] === 'ledger') {
    tokens.shift();
  }
  const verb = tokens[0];
  const { _: positional, year, currency = 'EUR', ...others } = minimist(tokens.slice(1));

  switch (verb) {
    // ----- Show -----
    case 'show': {
      const resource = tokens[1] || 'balance';
      const rest = tokens.slice(2);
      switch (resource) {
        case 'account':
        case 'acct':
          await api.get(`/accounts/${rest[0]}`);
          break;
        case 'entries':
          await showEntries(rest);
          break;
        case 'balance':
        default:
          await api.get('/balance');
          break;
      }
      return 0;
    }
    case 'post':
      return post(tokens.slice(1));
    case 'close':
      if (tokens[1] !== 'year') {
        throw new Error('Usage: ledger close year <number> [--force]');
      }
      await api.post(`/years/${tokens[2]}/close`, { force: tokens.includes('--force') });
      return 0;
  }

  // Verbs of the first version, which still work
  switch (true) {
    case verb === 'export' && EXPORTERS.has(tokens[1]):
      await api.get(`/exports/${tokens[1]}?year=${year}&currency=${currency}`);
      break;
    case verb === 'version' || verb === '--version':
      print(`${PROGRAM} 4`);
      break;
    default:
      if (/^i(mport)?$/.test(verb)) {
        await api.post('/imports', others);
      } else if (verb.startsWith('debug')) {
        dump(positional);
      } else {
        await legacy(tokens);
      }
  }
  return 0;
}

/**
 * List the entries of an account, newest first.
 *
 * @param words the account, and options
 */
async function showEntries(words: string[]) {
  const since = words.find((word) => word.startsWith('--since='))?.slice(8);
  const all = words.some((word) => word === '--all');
  await api.get(`/accounts/${words[0]}/entries`, { since, all });
}

const post = async (words: string[]) => {
  const flags = minimist(words);
  if (words.length < 3) {
    print(`
Usage: ledger post <debit> <credit> <amount> [--text=<text>]

Posts one amount from one account to another.

Options:
  --text=<text>   What stands beside it
  --draft         Keep it out of the books

Examples:
  ledger post cash sales 12.50 --text="Two coffees"
`);
    return 2;
  }
  await api.post('/entries', { debit: words[0], credit: words[1], amount: words[2], draft: flags.draft });
  return 0;
};

// The oldest verbs: two words in one key.
const OLD: Record<string, (words: string[]) => Promise<void>> = {
  'tax report': (words) => api.get(`/tax/${words[0]}`),
  'tax file': (words) => api.post(`/tax/${words[0]}/filing`),
};

async function legacy(words: string[]) {
  const key = `${words[0]} ${words[1]}`;
  const run = OLD[key];
  if (run) {
    await run(words.slice(2));
    return;
  }
  print('Usage: ledger <show|post|close|export|tax> ...');
}

function dump(words: string[]) {
  print(words.join(' '));
}

void main();
