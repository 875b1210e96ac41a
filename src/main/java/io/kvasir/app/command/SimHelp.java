package io.kvasir.app.command;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Help;
import picocli.CommandLine.Help.Layout;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.UsageMessageSpec;

/** The options of {@code kvasir sim} as its help shows them: in sections, being those of three kinds of processes. */
final class SimHelp {
  private static final List<Map.Entry<Class<?>, String>> SECTIONS =
      List.of(
          Map.entry(ActingOptions.class, "Which engine it acts as:"),
          Map.entry(EventOptions.class, "Cache events and load:"),
          Map.entry(TransferOptions.class, "Transfers between engines:"),
          Map.entry(HostTierOptions.class, "Host memory, and the LMCache processes that it is reported to:"),
          Map.entry(TroubleOptions.class, "What goes wrong:"),
          Map.entry(LmCacheOptions.class, "LMCache's controller or coordinator in place of an engine:"));

  private SimHelp() {}

  static void apply(CommandSpec command) {
    command.usageMessage().sectionMap().put(UsageMessageSpec.SECTION_KEY_OPTION_LIST, SimHelp::sections);
  }

  private static String sections(Help help) {
    List<OptionSpec> rest = new ArrayList<>(help.commandSpec().options());
    StringBuilder text = new StringBuilder();
    for (Map.Entry<Class<?>, String> each : SECTIONS) {
      List<OptionSpec> own = options(help.commandSpec(), each.getKey());
      section(each.getValue(), own, help, text);
      rest.removeAll(own);
    }
    StringBuilder first = new StringBuilder();
    section("The engine:", rest, help, first);
    return first.append(text).toString();
  }

  /** The options that stand in a class. */
  private static List<OptionSpec> options(CommandSpec command, Class<?> group) {
    return command.mixins().values().stream()
        .filter(mixin -> group.isInstance(mixin.userObject()))
        .flatMap(mixin -> mixin.options().stream())
        .toList();
  }

  private static void section(String heading, List<OptionSpec> options, Help help, StringBuilder text) {
    Layout layout = help.createDefaultLayout();
    layout.addAllOptions(options, help.parameterLabelRenderer());
    text.append(System.lineSeparator()).append(heading).append(System.lineSeparator()).append(layout);
  }
}
