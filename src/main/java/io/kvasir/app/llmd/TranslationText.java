package io.kvasir.app.llmd;

import com.typesafe.config.ConfigUtil;
import io.kvasir.app.config.HoconText;
import io.kvasir.llmd.PickerTranslation;
import io.kvasir.llmd.PluginUse;
import io.kvasir.llmd.TranslatedPart;
import io.kvasir.llmd.TranslatedPart.Verdict;
import io.kvasir.llmd.TranslatedProfile;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Writes a translation as a configuration: what became of each part as comments, then the settings and profiles. */
final class TranslationText {
  /** Words that HOCON takes as they are. */
  private static final Pattern PLAIN = Pattern.compile("[A-Za-z][A-Za-z0-9-]*");

  private final HoconText text = new HoconText();

  private TranslationText() {}

  /** The text of a translation of the file of this name. */
  static String of(String file, PickerTranslation translation) {
    TranslationText written = new TranslationText();
    written.text.comment("Translated from llm-d's " + file + " (" + translation.apiVersion() + ").");
    for (Verdict verdict : List.of(Verdict.MISSING, Verdict.SIMILAR, Verdict.NEEDLESS)) {
      written.findings(verdict, translation.findings(verdict));
    }
    written.text.blank().open("kvasir {");
    translation.settings().forEach((path, value) -> written.text.choice(path, render(value)));
    written.text.open("routing {").choice("profile", render(translation.profile()));
    translation.profiles().forEach(written::profile);
    written.text.close("}").close("}");
    return written.text.toString();
  }

  /** The text of settings by their paths. */
  static String ofSettings(Map<String, Object> settings) {
    HoconText text = new HoconText().open("kvasir {");
    settings.forEach((path, value) -> text.choice(path, render(value)));
    return text.close("}").toString();
  }

  private void findings(Verdict verdict, List<TranslatedPart> findings) {
    if (findings.isEmpty()) {
      return;
    }
    text.comment("").comment(title(verdict));
    for (TranslatedPart finding : findings) {
      String at = finding.line() == 0 ? "" : "line " + finding.line() + ", ";
      text.comment("- " + at + finding.part() + ": " + finding.sentence());
    }
  }

  private static String title(Verdict verdict) {
    return switch (verdict) {
      case SAME -> "The same here:";
      case SIMILAR -> "About the same here:";
      case NEEDLESS -> "Not needed here:";
      case MISSING -> "Without a counterpart, and left out:";
    };
  }

  private void profile(TranslatedProfile profile) {
    text.blank().open("profiles." + render(profile.name()) + " {");
    text.value("description", profile.description());
    switch (profile) {
      case TranslatedProfile.Workflow workflow -> {
        text.open("workflow {");
        workflow.settings().forEach((name, value) -> text.choice(name, render(value)));
        text.close("}");
      }
      case TranslatedProfile.Stages stages -> {
        plugins("prepare", stages.prepare());
        plugins("filter", stages.filter());
        if (!stages.score().isEmpty()) {
          plugins("score", stages.score());
        }
        text.choice("pick", render(stages.pick()));
        text.choice("execute", "{ plugin = forward, on-failure = next-candidate }");
      }
    }
    text.close("}");
  }

  /** Plugins on one line where none of them stands for a part of the file, else one a line. */
  private void plugins(String stage, List<PluginUse> plugins) {
    if (plugins.stream().allMatch(plugin -> plugin.origin().isEmpty())) {
      text.choice(stage, plugins.stream().map(TranslationText::render).collect(Collectors.joining(", ", "[ ", " ]")));
      return;
    }
    text.open(stage + " = [");
    String before = "";
    for (PluginUse plugin : plugins) {
      if (!plugin.origin().isEmpty() && !plugin.origin().equals(before)) {
        text.comment(plugin.origin());
      }
      before = plugin.origin();
      text.element(render(plugin));
    }
    text.close("]");
  }

  private static String render(PluginUse use) {
    return use.parameters().isEmpty()
        ? use.plugin()
        : "{ plugin = " + use.plugin() + ", " + members(use.parameters()) + " }";
  }

  private static String render(Object value) {
    return switch (value) {
      case String word when PLAIN.matcher(word).matches() -> word;
      case String words -> ConfigUtil.quoteString(words);
      case Double number when number == Math.rint(number) && Math.abs(number) < 1e15 ->
          Long.toString(number.longValue());
      case List<?> list -> list.stream().map(TranslationText::render).collect(Collectors.joining(", ", "[", "]"));
      case Map<?, ?> map -> "{ " + members(map) + " }";
      default -> String.valueOf(value);
    };
  }

  private static String members(Map<?, ?> map) {
    return map.entrySet().stream()
        .map(member -> member.getKey() + " = " + render(member.getValue()))
        .collect(Collectors.joining(", "));
  }
}
