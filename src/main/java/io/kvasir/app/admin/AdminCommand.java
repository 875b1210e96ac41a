package io.kvasir.app.admin;

import picocli.CommandLine.Command;

/** {@code kvasir admin}. */
@Command(
    name = "admin",
    description = "Administers a running router, over the admin API of its management port.",
    subcommands = {
      WorkersCommand.class,
      CellsCommand.class,
      ProfilesCommand.class,
      CachesCommand.class,
      DecisionsCommand.class,
      ConfigCommand.class
    },
    footer = {
      "",
      "Every command takes --management URL, --ca FILE, --key-file FILE and --json;",
      "KVASIR_MANAGEMENT_URL, KVASIR_MANAGEMENT_CA and KVASIR_ADMIN_KEY in the environment do for all.",
      "Exit status: 0 done, 1 not done, 2 not understood."
    })
public final class AdminCommand extends GroupCommand {}
