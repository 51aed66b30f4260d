/** A warehouse's console: nested tables of subcommands, each with its help, in which `--` stands for options. */
import { client, print } from './depot-client';

interface Command {
  description: string;
  usage?: string;
  run?: (args: string[]) => Promise<void> | void;
  subcommands?: Record<string, Command>;
}

function flagsOf(args: string[]): Map<string, string> {
  const flags = new Map<string, string>();
  args.forEach((arg) => {
    if (/^--/.test(arg)) {
      const [name, value] = arg.replace(/^--/, '').split('=');
      flags.set(name, value ?? 'true');
    }
  });
  return flags;
}

const shelves: Record<string, Command> = {
  list: {
    description: 'List the shelves -- all of them',
    run: async (args) => {
      const flags = flagsOf(args);
      print(await client.get('/shelves', { room: flags.get('room') }));
    },
  },
  label: {
    description: 'Print a label',
    usage: 'depot shelves label <shelf> [--copies=<n>] [--]',
    run: async (args) => {
      if (args.includes('--')) print('Everything behind -- is printed as it stands');
      await client.post('/labels', { shelf: args[0] });
    },
  },
};

const stock: Record<string, Command> = {
  count: { description: 'Count a part', run: (args) => client.get(`/stock/${args[0]}`) },
  move: {
    description: 'Move parts between shelves',
    usage: 'depot stock move <part> <shelf> [--quiet]',
    run: async (args) => {
      const quiet = args.some((arg) => arg === '--quiet');
      await client.post('/moves', { part: args[0], to: args[1], quiet });
    },
  },
  audit: {
    description: 'Audits of the stock',
    subcommands: {
      begin: { description: 'Begin an audit', run: () => client.post('/audits') },
      end: { description: 'End an audit', run: (args) => client.patch(`/audits/${args[0]}`) },
    },
  },
};

const commands: Record<string, Command> = {
  shelves: { description: 'Shelves', subcommands: shelves },
  stock: { description: 'Stock', subcommands: stock },
  whoami: { description: 'Who is signed in', run: async () => print(await client.get('/me')) },
  help: { description: 'Show all', run: () => print('depot <command> [--json]  --  see depot help') },
};

export async function dispatch(line: string): Promise<void> {
  print(`> ${line}`);
  const [group, ...rest] = line.trim().split(' ');
  const command = commands[group];
  if (!command) {
    print(`unknown ${line}`);
    return;
  }
  if (command.subcommands) {
    const below = command.subcommands[rest[0]];
    if (below.subcommands) {
      await below.subcommands[rest[1]].run(rest.slice(2));
      return;
    }
    await below.run(rest.slice(1));
    return;
  }
  await command.run(rest);
}
