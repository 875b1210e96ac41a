package io.kvasir.picker;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnsafeByteOperations;
import io.grpc.KnownLength;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.protobuf.ProtoUtils;
import io.kvasir.picker.extproc.ProcessingRequest;
import io.kvasir.picker.extproc.ProcessingResponse;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;

/** The method of Envoy's external processing protocol. */
final class ProcessMethod {
  /** The name of its service, for health. */
  static final String SERVICE = "envoy.service.ext_proc.v3.ExternalProcessor";

  static final MethodDescriptor<ProcessingRequest, ProcessingResponse> DESCRIPTOR =
      MethodDescriptor.<ProcessingRequest, ProcessingResponse>newBuilder()
          .setType(MethodType.BIDI_STREAMING)
          .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, "Process"))
          .setRequestMarshaller(new SlicingMarshaller())
          .setResponseMarshaller(ProtoUtils.marshaller(ProcessingResponse.getDefaultInstance()))
          .build();

  /** In the place of bytes that are no message: an exception would end the stream unseen, and fill the log. */
  private static final ProcessingRequest MALFORMED = ProcessingRequest.newBuilder().build();

  private ProcessMethod() {}

  /** Whether what came was no message. */
  @SuppressWarnings("ReferenceEquality") // An empty message is one, too.
  static boolean isMalformed(ProcessingRequest message) {
    return message == MALFORMED;
  }

  /** Reads messages whose bodies are slices of the bytes that came, without a copy of their own. */
  private static final class SlicingMarshaller implements MethodDescriptor.Marshaller<ProcessingRequest> {
    @Override
    public InputStream stream(ProcessingRequest request) {
      return request.toByteString().newInput();
    }

    @Override
    public ProcessingRequest parse(InputStream stream) {
      try {
        CodedInputStream in = UnsafeByteOperations.unsafeWrap(bytes(stream)).newCodedInput();
        in.enableAliasing(true);
        return ProcessingRequest.parseFrom(in);
      } catch (InvalidProtocolBufferException malformed) {
        return MALFORMED;
      } catch (IOException impossible) {
        throw Status.INTERNAL.withCause(impossible).asRuntimeException();
      }
    }

    /** Reading without the length, where that is known, would take buffers of many times it. */
    private static byte[] bytes(InputStream stream) throws IOException {
      if (!(stream instanceof KnownLength)) {
        return stream.readAllBytes();
      }
      byte[] bytes = new byte[stream.available()];
      if (stream.readNBytes(bytes, 0, bytes.length) < bytes.length) {
        throw new EOFException();
      }
      return bytes;
    }
  }
}
