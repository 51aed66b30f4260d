import { useCallback, useEffect, useRef, useState } from 'react';
import type { FormEvent, KeyboardEvent } from 'react';
import { runPlugin, pluginCommands } from '../plugins/registry';
import { authFetch, fetchJson } from '../lib/http';
import './OperatorConsole.css';

/*
 * The operator console of Quayside, an invented harbour office. Every style of dispatch that consoles are written in
 * stands here once, with what looks like dispatch and is none.
 */

interface OutputLine {
  type: 'command' | 'success' | 'error' | 'info';
  content: string;
  timestamp: Date;
}

interface Berth {
  code: string;
  status: string;
  vessel?: string;
  draught?: number;
}

type Handler = (args: string[]) => Promise<void> | void;

enum Verb {
  Open = 'open',
  Close = 'close',
  Inspect = 'inspect',
}

const TIDE_TABLE = 'table';
const TIDE_NEXT = 'next';
const MAX_ROWS = 200;

const STATUS_COLOURS: Record<string, string> = {
  free: 'green',
  taken: 'red',
  closed: 'grey',
};

const pad = (value: string, width: number) => value.substring(0, width).padEnd(width);

function statusColour(status: string): string {
  switch (status) {
    case 'free':
      return 'green';
    case 'taken':
      return 'red';
    default:
      return 'grey';
  }
}

/** Reads `--name=value` and `--name` from what was typed. */
const parseArgs = (args: string[]): Record<string, string> => {
  const result: Record<string, string> = {};
  for (const arg of args) {
    if (arg.startsWith('--')) {
      const [key, ...rest] = arg.substring(2).split('=');
      result[key] = rest.join('=').replace(/^["']|["']$/g, '');
    }
  }
  return result;
};

const BUILT_INS = [
  { name: 'help', description: 'Show what can be typed' },
  { name: 'clear', description: 'Empty the screen' },
  { name: 'history', description: 'Show what was typed before' },
];

class CargoDesk {
  constructor(private readonly print: (type: OutputLine['type'], content: string) => void) {}

  async dispatch(args: string[]): Promise<void> {
    const [verb, ...rest] = args;
    switch (verb) {
      // List the cargo of a vessel
      case 'list':
        return this.list(rest);
      case 'weigh':
        return this.weigh(rest);
      case 'hold':
      case 'release':
        // Both go through one endpoint, which is told which of them it is.
        return this.setHold(verb, rest);
      default:
        this.print('error', `Unknown verb: ${verb}. Use: list, weigh, hold, release`);
    }
  }

  private async list(args: string[]): Promise<void> {
    if (args.length === 0) {
      this.print('error', 'Usage: quay cargo list <vessel> [--kind=bulk|container|liquid] [--limit=50]');
      return;
    }
    const options = parseArgs(args.slice(1));
    const limit = options.limit || '50';
    const data = await fetchJson('GET', `/api/vessels/${args[0]}/cargo?limit=${limit}`);
    this.print('success', data.items.map((item: { id: string }) => item.id).join('\n'));
  }

  /**
   * Weigh one piece of cargo and store the result.
   */
  private weigh = async (args: string[]): Promise<void> => {
    const piece = args[0];
    const data = await fetchJson('POST', `/api/cargo/${piece}/weighings`);
    this.print('success', `${data.kilograms} kg`);
  };

  private async setHold(verb: string, args: string[]): Promise<void> {
    const piece = args[0];
    const { reason = 'customs' } = parseArgs(args.slice(1));
    await fetchJson('PATCH', `/api/cargo/${piece}`, { held: verb === 'hold', reason });
  }
}

export function OperatorConsole({ harbourId }: { harbourId: string }) {
  const [output, setOutput] = useState<OutputLine[]>([]);
  const [current, setCurrent] = useState('');
  const [history, setHistory] = useState<string[]>([]);
  const [showHelpPanel, setShowHelpPanel] = useState(false);
  const inputRef = useRef<HTMLInputElement>(null);

  useEffect(() => {
    inputRef.current?.focus();
  }, []);

  const addOutput = (type: OutputLine['type'], content: string) => {
    setOutput((before) => [...before, { type, content, timestamp: new Date() }]);
  };

  const apiRequest = async (method: string, path: string, body?: unknown): Promise<any> => {
    const response = await authFetch(`https://office.example${path}`, { method, body: JSON.stringify(body) });
    if (!response.ok) {
      throw new Error(`HTTP ${response.status}`);
    }
    return response.status === 204 ? null : response.json();
  };

  const cargo = new CargoDesk(addOutput);

  const executeCommand = useCallback(
    async (command: string) => {
      const trimmed = command.trim();
      if (!trimmed) return;

      addOutput('command', `$ ${trimmed}`);
      setHistory((before) => [...before, trimmed]);

      try {
        if (trimmed === 'help' || trimmed === '?') {
          setShowHelpPanel(true);
        } else if (trimmed === 'clear') {
          setOutput([]);
        } else if (trimmed === 'history') {
          showHistory();
        } else {
          // The program's name may be left out before these words; not all of them exist.
          const knownModules = ['berths', 'vessels', 'pilots', 'tugs', 'crane'];
          const firstWord = trimmed.split(' ')[0];

          let line = trimmed;
          if (!trimmed.startsWith('quay ') && knownModules.includes(firstWord)) {
            line = `quay ${trimmed}`;
          }

          if (line.startsWith('quay ')) {
            await executeQuayCommand(line);
          } else {
            addOutput('error', `Unknown command: ${trimmed}. Type "help" for what there is.`);
          }
        }
      } catch (error: any) {
        addOutput('error', `Error: ${error.message}`);
      } finally {
        setTimeout(() => inputRef.current?.focus(), 10);
      }
    },
    [harbourId],
  );

  const executeQuayCommand = async (command: string) => {
    // quay <module> <action> [arguments]
    const parts = command.split(/\s+/).filter((part) => part);
    parts.shift();

    if (parts.length === 0) {
      addOutput('error', 'Usage: quay <module> <action> [options]');
      return;
    }

    const module = parts[0];

    switch (module) {
      case 'berths':
      case 'moorings':
        await handleBerths(parts[1] || 'list', parts.slice(2));
        break;
      case 'vessels':
        await handleVessels(parts.slice(1));
        break;
      case 'cargo':
        await cargo.dispatch(parts.slice(1));
        break;
      case 'pilots':
        await handlePilots(parts.slice(1));
        break;
      case 'gates':
        await handleGates(parts[1], parts.slice(2));
        break;
      // Times of high and low water
      case 'tides':
        handleTides(parts);
        break;
      case 'invoices':
        await handleInvoices(parts.slice(1));
        break;
      case 'api':
        await handleApi(parts.slice(1));
        break;
      case 'plugin':
        await runPlugin(parts.slice(1));
        break;
      case 'weather':
        handleWeather();
        break;
      case 'report':
        await handleReport(parts.slice(1));
        break;
      case 'staff':
        await handleStaff(parts.slice(1));
        break;
      case 'locks':
        await handleLocks(parts.slice(1));
        break;
      case 'ext':
        await extensions[parts[1]](parts.slice(2));
        break;
      default:
        addOutput('error', `Unknown module: ${module}. Use: berths, vessels, cargo, pilots, gates, tides`);
    }
  };

  const showHistory = () => {
    history.forEach((line, index) => addOutput('info', `${index + 1}  ${line}`));
  };

  // ===== BERTHS: a switch on an action that was cut off before =====
  const handleBerths = async (action: string, args: string[]) => {
    switch (action) {
      case 'list': {
        const params = parseArgs(args);
        const filter = params.filter || '';
        const data = await apiRequest('GET', `/api/harbours/${harbourId}/berths`);
        const berths = data.berths.filter((berth: Berth) => {
          const [field, value] = filter.split(':');
          // What is switched on here is no word of a command.
          switch (field) {
            case 'status':
              return berth.status === value;
            case 'code':
              return berth.code.startsWith(value);
            default:
              return true;
          }
        });
        addOutput('success', berths.map((berth: Berth) => `${pad(berth.code, 8)} ${statusColour(berth.status)}`).join('\n'));
        break;
      }

      case 'get': {
        if (args.length === 0) {
          addOutput('error', 'Usage: quay berths get <code> [--format=table|json] [--download]');
          addOutput('info', 'Shows one berth and the vessel in it');
          return;
        }
        const code = args[0];
        const params = parseArgs(args.slice(1));
        const format = params.format || 'table';
        const berth = await apiRequest('GET', `/api/berths/${encodeURIComponent(code)}`);
        if (params.download !== undefined) {
          addOutput('success', `Saved ${code}.json`);
        } else if (format === 'json') {
          addOutput('success', JSON.stringify(berth, null, 2));
        } else {
          addOutput('success', ['Berth', '='.repeat(40), berth.code, 'Use --format=json for everything'].join('\n'));
        }
        break;
      }

      // Give a berth to a vessel
      case 'assign':
      case 'book': {
        if (args.length < 2) {
          addOutput('error', 'Usage: quay berths assign <code> <vessel> [options]');
          addOutput('info', '');
          addOutput('info', 'Options:');
          addOutput('info', '  --from=<time>       First hour of the stay (required)');
          addOutput('info', '  --hours=24          How long it stays');
          addOutput('info', '  --side=port|starboard  Which side lies along the quay (default: port)');
          addOutput('info', '  --dry-run           Say what would happen');
          addOutput('info', '');
          addOutput('info', 'Examples:');
          addOutput('info', '  quay berths assign B12 aurora --from=06:00 --hours=36');
          addOutput('info', '  quay berths assign B3 "North Star" --from=18:30 --dry-run');
          return;
        }
        const [code, vessel] = args;
        const params = parseArgs(args.slice(2));
        if (!params.from) {
          addOutput('error', 'Required: --from');
          return;
        }
        const body = { vessel, from: params.from, hours: params.hours, side: params.side || 'port' };
        if (params['dry-run'] === undefined) {
          await apiRequest('POST', `/api/berths/${code}/stays`, body);
        }
        addOutput('success', `${vessel} lies in ${code}`);
        break;
      }

      case 'free': {
        if (args.length === 0) {
          addOutput('error', 'Usage: berths free <code>');
          addOutput('info', 'Example: berths free B12');
          return;
        }
        await apiRequest('DELETE', `/api/berths/${args[0]}/stays/current`);
        break;
      }

      default:
        addOutput('error', `Unknown action: ${action}. Use: list, get, assign, free`);
    }
  };

  // ----- Vessels: an if chain -----
  async function handleVessels(args: string[]) {
    const action = args[0]?.toLowerCase();
    if (action === 'list' || action === 'ls') {
      const flagOnly = args.includes('--in-port');
      const flag = args.find((arg) => arg.startsWith('--flag='));
      const response = await authFetch('/api/vessels' + (flagOnly ? '?in_port=1' : ''));
      const data = await response.json();
      addOutput('success', data.slice(0, MAX_ROWS).map((each: { name: string }) => `${each.name} ${flag}`).join('\n'));
    } else if (action === 'show') {
      const imo = args[1];
      if (!imo) {
        addOutput('error', 'Usage: quay vessels show <imo>');
        return;
      }
      const response = await authFetch(`/api/vessels/${imo}`, { method: 'GET' });
      addOutput('success', await response.text());
    } else if (action === 'crew') {
      await handleCrew(args.slice(1));
    } else {
      addOutput('error', 'Use: quay vessels list|show|crew');
    }
  }

  // Nested: quay vessels crew <verb>
  const handleCrew = async (args: string[]) => {
    const [verb, imo, name] = args;
    if (verb === 'list') {
      await apiRequest('GET', `/api/vessels/${imo}/crew`);
      return;
    }
    if (verb === 'sign-on') {
      const rank = parseArgs(args.slice(3)).rank ?? 'deckhand';
      await apiRequest('POST', `/api/vessels/${imo}/crew`, { name, rank });
      return;
    }
    if (verb === 'sign-off') {
      await apiRequest('DELETE', `/api/vessels/${imo}/crew/${name}`);
      return;
    }
    throw new Error('Usage: quay vessels crew <list|sign-on|sign-off> <imo> [name]');
  };

  // Pilots: a table of handlers, looked up by a word
  const pilotCommands: Record<string, Handler> = {
    /** Who is on duty now */
    duty: async () => {
      const data = await apiRequest('GET', '/api/pilots/on-duty');
      addOutput('success', JSON.stringify(data));
    },
    // Send a pilot to a vessel
    send: async (args) => {
      if (args.length < 2) {
        addOutput('error', 'Usage: quay pilots send <pilot> <vessel> [--boat=1|2]');
        return;
      }
      const [pilot, vessel] = args;
      await apiRequest('POST', '/api/pilotages', { pilot, vessel, boat: parseArgs(args.slice(2)).boat });
    },
    'call-back': (args) => callPilotBack(args),
    ...pluginCommands,
  };

  function callPilotBack(args: string[]) {
    const pilot = args[0];
    return apiRequest('DELETE', `/api/pilotages/${pilot}`);
  }

  const handlePilots = async (args: string[]) => {
    const [name, ...rest] = args;
    const handler = pilotCommands[name];
    if (!handler) {
      addOutput('error', `Unknown: ${name}. Use: ${Object.keys(pilotCommands).join(', ')}`);
      return;
    }
    await handler(rest);
  };

  // Gates: cases named by an enumeration
  const handleGates = async (verb: string, args: string[]) => {
    const gate = args[0] || 'main';
    switch (verb as Verb) {
      case Verb.Open:
        await apiRequest('PUT', `/api/gates/${gate}/state`, { open: true });
        break;
      case Verb.Close:
        await apiRequest('PUT', `/api/gates/${gate}/state`, { open: false });
        break;
      case Verb.Inspect: {
        const data = await apiRequest('GET', `/api/gates/${gate}`);
        addOutput('info', data.state);
        break;
      }
      default:
        addOutput('error', 'Usage: quay gates <open|close|inspect> [gate]');
    }
  };

  // Tides: the whole list of words is handed over, and constants name the cases
  const handleTides = (parts: string[]) => {
    switch (parts[1]) {
      case TIDE_TABLE: {
        const day = parts[2] || 'today';
        const metres = parts.indexOf('--metres') >= 0;
        addOutput('info', `${day} ${metres}`);
        break;
      }
      case TIDE_NEXT:
        addOutput('info', new Date().toISOString());
        break;
      default:
        addOutput('error', 'Usage: quay tides table [day] [--metres]');
        addOutput('info', '       quay tides next                 The next high water');
    }
  };

  // Invoices: guards that leave early
  const handleInvoices = async (args: string[]) => {
    const action = args[0];
    if (!['draft', 'send'].includes(action)) {
      addOutput('error', 'Usage: quay invoices <draft|send> <number>');
      return;
    }
    const number = args[1];
    await apiRequest('POST', `/api/invoices/${number}/${action}`);
  };

  const handleApi = async (args: string[]) => {
    if (args.length < 2) {
      addOutput('error', 'Usage: quay api <METHOD> <PATH> [JSON_BODY]');
      return;
    }
    const method = args[0].toUpperCase();
    const body = args[2] ? JSON.parse(args[2]) : undefined;
    addOutput('success', JSON.stringify(await apiRequest(method, args[1], body)));
  };

  const handleWeather = () => {
    addOutput('info', 'Weather is coming soon...');
  };

  // Reports: a list of descriptions that is searched by name
  const reports = [
    {
      name: 'daily',
      aliases: ['day'],
      description: 'Arrivals and departures of one day',
      usage: 'quay report daily [date] [--csv]',
      handler: async (args: string[]) => {
        const date = args[0];
        const csv = args.some((arg) => arg === '--csv');
        await apiRequest('GET', `/api/reports/daily/${date}?csv=${csv}`);
      },
    },
    {
      name: 'dues',
      description: 'Harbour dues by vessel',
      usage: 'quay report dues <year>',
      handler: async (args: string[]) => {
        await apiRequest('GET', `/api/reports/dues/${args[0]}`);
      },
    },
  ];

  const handleReport = async (args: string[]) => {
    const report = reports.find((each) => each.name === args[0] || each.aliases?.includes(args[0]));
    if (!report) {
      addOutput('error', `Reports: ${reports.map((each) => each.name).join(', ')}`);
      return;
    }
    await report.handler(args.slice(1));
  };

  // Staff: tables within tables, and a Map
  const rosterCommands = new Map<string, Handler>([
    ['show', async () => void (await apiRequest('GET', '/api/roster'))],
    ['swap', async ([first, second]) => void (await apiRequest('POST', '/api/roster/swaps', { first, second }))],
  ]);

  const staffCommands = {
    badge: {
      print: async (args: string[]) => apiRequest('POST', `/api/staff/${args[0]}/badge`),
      revoke: async (args: string[]) => apiRequest('DELETE', `/api/staff/${args[0]}/badge`),
    },
  } as const;

  const handleStaff = async (args: string[]) => {
    const [area, verb, ...rest] = args;
    if (area === 'roster') {
      await rosterCommands.get(verb)?.(rest);
    } else if (area === 'badge') {
      await (staffCommands as any)[area][verb](rest);
    }
  };

  // Locks: a word behind an argument
  const handleLocks = async (args: string[]) => {
    const lock = args[0];
    const state = args[1];
    if (state === 'fill') {
      await apiRequest('POST', `/api/locks/${lock}/fill`);
    } else if (state === 'drain') {
      await apiRequest('POST', `/api/locks/${lock}/drain`);
    }
  };

  const extensions: any = (window as any).quayExtensions;

  const submit = (event: FormEvent) => {
    event.preventDefault();
    void executeCommand(current);
    setCurrent('');
  };

  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key === 'ArrowUp') {
      setCurrent(history[history.length - 1] ?? '');
    } else if (event.key === 'Escape') {
      setShowHelpPanel(false);
    }
  };

  return (
    <div className="operator-console">
      <h1>Operator console</h1>
      <ol>
        {output.map((line, index) => (
          <li key={index} className={`line-${line.type}`} style={{ color: STATUS_COLOURS[line.type] }}>
            {line.content}
          </li>
        ))}
      </ol>
      <form onSubmit={submit}>
        <input ref={inputRef} value={current} onChange={(event) => setCurrent(event.target.value)} onKeyDown={onKeyDown} />
      </form>
      {showHelpPanel && (
        <section>
          <h2>Built in</h2>
          <ul>
            {BUILT_INS.map((each) => (
              <li key={each.name}>{each.description}</li>
            ))}
          </ul>
          <table>
            <tbody>
              <tr>
                <td className="command-name">berths list</td>
                <td className="command-desc">List all berths and who lies in them</td>
              </tr>
              <tr>
                <td className="command-name">vessels show &lt;imo&gt;</td>
                <td className="command-desc">Show one vessel by its number</td>
              </tr>
              <tr>
                <td className="command-name">gates open [gate]</td>
                <td className="command-desc">Open a gate</td>
              </tr>
              <tr>
                <td className="command-name">vessels rename &lt;imo&gt; &lt;name&gt;</td>
                <td className="command-desc">Was taken out last year</td>
              </tr>
            </tbody>
          </table>
          <h2>Examples</h2>
          <div>
            <h4>All berths that are free</h4>
            <code>berths list --filter=status:free</code>
          </div>
          <div>
            <h4>Send Ada to a vessel</h4>
            <code>quay pilots send ada aurora --boat=2</code>
          </div>
        </section>
      )}
    </div>
  );
}
