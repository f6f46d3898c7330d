#!/usr/bin/env escript
%% An SFTP server made with Erlang's ssh: keys, and the whole file system. Arguments: port, and a directory with the host keys in
%% `system` and authorized_keys in `user`.
main([Port, Dir]) ->
    {ok, _} = application:ensure_all_started(ssh),
    {ok, _} = ssh:daemon({127, 0, 0, 1}, list_to_integer(Port), [
        {system_dir, filename:join(Dir, "system")},
        {user_dir, filename:join(Dir, "user")},
        {auth_methods, "publickey"},
        {parallel_login, true},
        {subsystems, [ssh_sftpd:subsystem_spec([{cwd, "/"}])]}
    ]),
    timer:sleep(infinity).
