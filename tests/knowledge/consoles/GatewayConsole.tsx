/** The console of a directory gateway: switches, handlers that print `--` in their help, an echo of what was typed. */
import React, { useState } from 'react';

import { api } from '../api';

type Kind = 'command' | 'success' | 'error' | 'info';

export const GatewayConsole: React.FC<{ organization: string }> = ({ organization }) => {
  const [output, setOutput] = useState<{ kind: Kind; text: string }[]>([]);
  const [input, setInput] = useState('');
  const [history, setHistory] = useState<string[]>([]);

  const addOutput = (kind: Kind, text: string) => {
    setOutput((before) => [...before, { kind, text }]);
  };

  const parseOptions = (args: string[]): Record<string, string> => {
    const found: Record<string, string> = {};
    for (const arg of args) {
      if (arg.startsWith('--')) {
        const [key, ...value] = arg.slice(2).split('=');
        found[key] = value.join('=') || 'true';
      }
    }
    return found;
  };

  const executeCommand = async (typed: string) => {
    const trimmed = typed.trim();
    if (!trimmed) return;
    addOutput('command', `$ ${input}`);
    setHistory((before) => [...before, trimmed]);
    const parts = trimmed.split(/\s+/);
    const command = parts[0].toLowerCase();
    const args = parts.slice(1);
    try {
      switch (command) {
        case 'help':
          showHelp();
          break;
        case 'clear':
          setOutput([]);
          break;
        case 'status':
          await showStatus();
          break;
        case 'gw':
          await handleWorkspace(args);
          break;
        case 'ms':
          await handleMicrosoft(args);
          break;
        case 'users':
          await handleUsers(args);
          break;
        case 'api':
          await handleApi(args);
          break;
        default:
          addOutput('error', `Unknown command: ${command}. Type "help".`);
      }
    } catch (error) {
      addOutput('error', `failed ${trimmed}`);
    }
  };

  const showStatus = async () => {
    const status = await api.get('/status');
    addOutput('info', JSON.stringify(status));
  };

  const handleApi = async (args: string[]) => {
    if (args.length < 2) {
      addOutput('error', 'Usage: api <METHOD> <PATH> [--body=<json>]');
      return;
    }
    const [method, path] = args;
    const body = args.find((arg) => arg.startsWith('--body='));
    const response = await fetch(`/api${path}`, { method, body: body?.slice(7) });
    addOutput('info', await response.text());
  };

  // Everything of Google Workspace.
  const handleWorkspace = async (args: string[]) => {
    if (args.length === 0) {
      addOutput('error', 'Usage: gw <users|groups|orgunits|sync> <action> [-- <raw options>]');
      return;
    }
    const resource = args[0];
    const action = args[1];
    const rest = args.slice(2);
    switch (resource) {
      case 'users':
        await handleWorkspaceUsers(action, rest);
        break;
      case 'groups':
        await handleWorkspaceGroups(action, rest);
        break;
      case 'orgunits': {
        if (action === 'list') {
          addOutput('info', JSON.stringify(await api.get('/gw/orgunits')));
        } else if (action === 'create') {
          await api.post('/gw/orgunits', { name: rest[0] });
        } else {
          addOutput('error', 'Usage: gw orgunits <list|create>');
        }
        break;
      }
      case 'sync':
        await api.post('/gw/sync');
        break;
      default:
        addOutput('error', `Unknown resource: ${resource}`);
    }
  };

  const handleWorkspaceUsers = async (action: string, args: string[]) => {
    const separator = '--';
    switch (action) {
      case 'list': {
        const options = parseOptions(args);
        addOutput('info', JSON.stringify(await api.get('/gw/users', { params: { limit: options.limit } })));
        break;
      }
      case 'get': {
        const email = args[0];
        if (!email || email === separator) {
          addOutput('error', 'Usage: gw users get <email>');
          return;
        }
        addOutput('info', JSON.stringify(await api.get(`/gw/users/${email}`)));
        break;
      }
      case 'create': {
        const flags: Record<string, string> = {};
        for (const arg of args.slice(1)) {
          if (arg.startsWith('--')) {
            const [key, value] = arg.substring(2).split('=');
            flags[key] = value;
          }
        }
        if (!flags.firstName) {
          addOutput('error', 'Usage: gw users create <email> --firstName=<name> --lastName=<name> [--ou=<path>]');
          return;
        }
        await api.post('/gw/users', { email: args[0], ...flags });
        break;
      }
      case 'suspend':
        await api.patch(`/gw/users/${args[0]}`, { suspended: true });
        break;
      case 'restore':
        await api.patch(`/gw/users/${args[0]}`, { suspended: false });
        break;
      case 'delete':
      case 'remove':
        await api.delete(`/gw/users/${args[0]}`);
        break;
      default:
        addOutput('error', 'gw users: list -- all, get -- one, create, suspend, restore, delete');
    }
  };

  const handleWorkspaceGroups = async (action: string, args: string[]) => {
    if (!action || action === '--') {
      addOutput('error', 'Usage: gw groups <action> [--]');
      return;
    }
    if (action === 'list') {
      await api.get('/gw/groups');
    } else if (action === 'members') {
      await handleMembers(args[0], args.slice(1));
    } else if (action === 'rename') {
      await api.patch(`/gw/groups/${args[0]}`, { name: args[1] });
    }
  };

  const handleMembers = async (verb: string, args: string[]) => {
    const plain = args.filter((arg) => !arg.startsWith('--'));
    switch (verb) {
      case 'list':
        await api.get(`/gw/groups/${plain[0]}/members`);
        break;
      case 'add':
        await api.post(`/gw/groups/${plain[0]}/members`, { member: plain[1] });
        break;
      case 'remove':
        await api.delete(`/gw/groups/${plain[0]}/members/${plain[1]}`);
        break;
    }
  };

  const handleMicrosoft = async (args: string[]) => {
    const help = ['ms users list    --  all users', 'ms licenses list --  all licenses'].join('\n');
    const [resource, action, ...rest] = args;
    if (resource === 'users' && action === 'list') {
      await api.get('/ms/users');
    } else if (resource === 'users' && action === 'get') {
      await api.get(`/ms/users/${rest[0]}`);
    } else if (resource === 'licenses' && action === 'list') {
      await api.get('/ms/licenses');
    } else {
      addOutput('info', help);
    }
  };

  const handleUsers = async (args: string[]) => {
    const options = parseOptions(args);
    switch (args[0]) {
      case 'list':
        await api.get('/users', { params: { department: options.department } });
        break;
      case 'stats':
        await api.get('/users/stats');
        break;
    }
  };

  const showHelp = () => {
    addOutput('info', ['Options begin with --', 'Everything behind -- is taken as it stands'].join('\n'));
  };

  return (
    <div className="console">
      {output.map((line, number) => (
        <pre key={number} className={line.kind}>
          {line.kind === 'command' ? `${organization} ${line.text}` : line.text}
        </pre>
      ))}
      <input
        value={input}
        onChange={(event) => setInput(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') {
            void executeCommand(input);
            setInput('');
          }
        }}
      />
    </div>
  );
};
