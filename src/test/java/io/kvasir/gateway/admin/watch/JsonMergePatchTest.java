package io.kvasir.gateway.admin.watch;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class JsonMergePatchTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
    "{'a':1}               | {'a':1}               | null",
    "{'a':1}               | {'a':2}               | {'a':2}",
    "{'a':1,'b':2}         | {'b':2}               | {'a':null}",
    "{}                    | {'a':{'b':[1]}}       | {'a':{'b':[1]}}",
    "{'a':{'b':1,'c':2}}   | {'a':{'b':1,'c':3}}   | {'a':{'c':3}}",
    "{'a':{'b':1,'c':2}}   | {'a':{'b':1}}         | {'a':{'c':null}}",
    "{'a':[1,2]}           | {'a':[1,3]}           | {'a':[1,3]}",
    "{'a':{'b':1}}         | {'a':'text'}          | {'a':'text'}",
    "{'a':'text'}          | {'a':{'b':1}}         | {'a':{'b':1}}"
  })
  void patch_saysWhatChanged(String before, String after, String patch) throws IOException {
    ObjectNode between = JsonMergePatch.between(object(before), object(after));

    assertThat(String.valueOf(between)).isEqualTo(patch.replace('\'', '"'));
  }

  @Test
  void patch_makesTheNewOfTheOld() throws IOException {
    Random random = new Random(7);
    for (int i = 0; i < 500; i++) {
      ObjectNode before = some(random, 3);
      ObjectNode after = some(random, 3);
      ObjectNode patch = JsonMergePatch.between(before, after);
      ObjectNode kept = before.deepCopy();

      assertThat(JsonMergePatch.patched(before, patch == null ? JSON.createObjectNode() : patch)).isEqualTo(after);
      assertThat(patch == null).isEqualTo(before.equals(after));
      assertThat(before).isEqualTo(kept);
    }
  }

  /** The examples of RFC 7396, appendix A, in which a member or more is patched. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
    "{'a':'b'}             | {'a':'c'}                 | {'a':'c'}",
    "{'a':'b'}             | {'b':'c'}                 | {'a':'b','b':'c'}",
    "{'a':'b'}             | {'a':null}                | {}",
    "{'a':'b','b':'c'}     | {'a':null}                | {'b':'c'}",
    "{'a':['b']}           | {'a':'c'}                 | {'a':'c'}",
    "{'a':'c'}             | {'a':['b']}               | {'a':['b']}",
    "{'a':{'b':'c'}}       | {'a':{'b':'d','c':null}}  | {'a':{'b':'d'}}",
    "{'a':[{'b':'c'}]}     | {'a':[1]}                 | {'a':[1]}",
    "{'e':null}            | {'a':1}                   | {'e':null,'a':1}",
    "{}                    | {'a':{'bb':{'ccc':null}}} | {'a':{'bb':{}}}"
  })
  void patched_isAsTheStandardSays(String before, String patch, String after) throws IOException {
    assertThat(JsonMergePatch.patched(object(before), object(patch))).hasToString(after.replace('\'', '"'));
  }

  private static ObjectNode some(Random random, int depth) {
    ObjectNode object = JSON.createObjectNode();
    for (String name : new String[] {"a", "b", "c"}) {
      switch (random.nextInt(depth > 0 ? 4 : 3)) {
        case 0 -> {}
        case 1 -> object.put(name, random.nextInt(2));
        case 2 -> object.putArray(name).add(random.nextInt(2));
        default -> object.set(name, some(random, depth - 1));
      }
    }
    return object;
  }

  private static ObjectNode object(String text) throws IOException {
    return (ObjectNode) JSON.readTree(text.replace('\'', '"'));
  }
}
