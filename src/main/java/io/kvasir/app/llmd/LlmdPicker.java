package io.kvasir.app.llmd;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigParseOptions;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.ConfigFault;
import io.kvasir.llmd.PickerArgument;
import io.kvasir.llmd.PickerArguments;
import io.kvasir.llmd.TranslatedPart.Verdict;
import io.kvasir.llmd.UntranslatableException;
import io.kvasir.routing.ConfigPlace;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A picker of llm-d as its arguments describe it, with the file that they name. Immutable.
 *
 * @param arguments the arguments, translated
 * @param file the EndpointPickerConfig, null where there is none
 */
public record LlmdPicker(PickerArguments arguments, @Nullable LlmdFile file) {
  /** The short name of {@link PickerArgument#V}. */
  private static final String VERBOSITY = "-v";

  private static final Set<String> OWN = Set.of("-h", "--help", "-V", "--version");

  /**
   * Reads the arguments and the file that they name.
   *
   * @param environment of the process, which knows the namespace
   * @throws ConfigException with every reason why they cannot be translated
   */
  public static LlmdPicker of(Map<PickerArgument, String> given, Map<String, String> environment)
      throws ConfigException {
    List<ConfigFault> faults = new ArrayList<>();
    PickerArguments arguments = null;
    LlmdFile file = null;
    try {
      arguments = PickerArguments.translate(given, environment.getOrDefault("NAMESPACE", ""));
    } catch (UntranslatableException refused) {
      refused.faults().forEach(
          fault -> faults.add(new ConfigFault(ConfigPlace.UNKNOWN, fault.part(), fault.problem(), null)));
    }
    try {
      file = file(given);
    } catch (ConfigException refused) {
      faults.addAll(refused.faults());
    }
    if (arguments == null || !faults.isEmpty()) {
      throw new ConfigException(faults);
    }
    return new LlmdPicker(arguments, file);
  }

  private static @Nullable LlmdFile file(Map<PickerArgument, String> given) throws ConfigException {
    String name = given.get(PickerArgument.CONFIG_FILE);
    String text = given.get(PickerArgument.CONFIG_TEXT);
    return name != null ? LlmdFile.read(Path.of(name))
        : text != null ? LlmdFile.of(PickerArgument.CONFIG_TEXT.flag(), text)
        : null;
  }

  /**
   * Command lines as this program reads them: arguments without a command are those of llm-d's picker where any of them
   * is, and else of a command that was forgotten. Their names may also have a single dash and capital letters, as they
   * had once.
   */
  public static String[] commandLine(String... args) {
    boolean bare =
        args.length > 0 && args[0].startsWith("-") && !OWN.contains(args[0])
            && Arrays.stream(args).anyMatch(LlmdPicker::isPickers);
    if (!bare && (args.length == 0 || !args[0].equals("picker"))) {
      return args;
    }
    return Stream.concat(
            Stream.of("picker"), Arrays.stream(args).skip(bare ? 0 : 1).map(LlmdPicker::modern))
        .toArray(String[]::new);
  }

  private static boolean isPickers(String written) {
    String name = modern(written).split("=", 2)[0];
    return name.equals(VERBOSITY)
        || Arrays.stream(PickerArgument.values()).anyMatch(argument -> argument.flag().equals(name));
  }

  /** {@code -poolName=x} as {@code --pool-name=x}; what is no argument of the picker stays as it is. */
  private static String modern(String written) {
    int end = written.indexOf('=') < 0 ? written.length() : written.indexOf('=');
    if (!written.startsWith("-") || end < 3) {
      return written;
    }
    String flag =
        "--" + written.substring(0, end).replaceFirst("^--?", "").replaceAll("([a-z])([A-Z])", "$1-$2")
            .toLowerCase(Locale.ROOT);
    boolean known = Arrays.stream(PickerArgument.values()).anyMatch(argument -> argument.flag().equals(flag));
    return known ? flag + written.substring(end) : written;
  }

  /** The configuration that does the same, as HOCON with comments. */
  public String text() {
    return (file == null ? "" : file.text() + "\n") + TranslationText.ofSettings(arguments.settings());
  }

  /** The configuration that does the same. */
  public Config config() {
    return ConfigFactory.parseString(
        text(), ConfigParseOptions.defaults().setOriginDescription("the arguments of llm-d's picker"));
  }

  /** What does not do the same, or nothing at all, in a line each. */
  public List<String> losses() {
    Stream<String> lost =
        arguments.findings().stream()
            .filter(finding -> finding.verdict() == Verdict.MISSING || finding.verdict() == Verdict.SIMILAR)
            .map(finding -> finding.part() + ": " + finding.verdict().words() + ": " + finding.sentence());
    return Stream.concat(lost, file == null ? Stream.empty() : file.losses().stream()).toList();
  }
}
