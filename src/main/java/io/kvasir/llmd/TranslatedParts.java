package io.kvasir.llmd;

import io.kvasir.llmd.TranslatedPart.Verdict;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Collects what becomes of each part of a file. One thread at a time. */
final class TranslatedParts {
  private final List<TranslatedPart> all = new ArrayList<>();

  void add(Verdict verdict, String part, int line, String sentence) {
    TranslatedPart finding = new TranslatedPart(verdict, part, line, sentence);
    if (!all.contains(finding)) {
      all.add(finding);
    }
  }

  /** A parameter of a plugin that is left out, or that means something else here. */
  void parameter(Verdict verdict, PluginEntry plugin, String parameter, String sentence) {
    add(verdict, plugin.part() + ": " + parameter, plugin.parameters().line(parameter), sentence);
  }

  /** All of them by line. */
  List<TranslatedPart> sorted() {
    return all.stream().sorted(Comparator.comparingInt(TranslatedPart::line)).toList();
  }
}
