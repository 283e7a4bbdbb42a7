"""The databento-dbn class for the records of each schema, by DBN version."""

import databento_dbn as dbn

VERSIONS = (1, 2, 3)

# Schema: {versions: class of their records}.
RECORD_CLASSES = {
    "mbo": {VERSIONS: dbn.MBOMsg},
    "mbp-1": {VERSIONS: dbn.MBP1Msg},
    "mbp-10": {VERSIONS: dbn.MBP10Msg},
    "tbbo": {VERSIONS: dbn.MBP1Msg},
    "trades": {VERSIONS: dbn.TradeMsg},
    "ohlcv-1s": {VERSIONS: dbn.OHLCVMsg},
    "ohlcv-1m": {VERSIONS: dbn.OHLCVMsg},
    "ohlcv-1h": {VERSIONS: dbn.OHLCVMsg},
    "ohlcv-1d": {VERSIONS: dbn.OHLCVMsg},
    "definition": {
        (1,): dbn.InstrumentDefMsgV1,
        (2,): dbn.InstrumentDefMsgV2,
        (3,): dbn.InstrumentDefMsg,
    },
    "statistics": {(1, 2): dbn.StatMsgV1, (3,): dbn.StatMsg},
    "status": {VERSIONS: dbn.StatusMsg},
    "imbalance": {VERSIONS: dbn.ImbalanceMsg},
    "ohlcv-eod": {VERSIONS: dbn.OHLCVMsg},
    "cmbp-1": {VERSIONS: dbn.CMBP1Msg},
    "cbbo-1s": {VERSIONS: dbn.CBBOMsg},
    "cbbo-1m": {VERSIONS: dbn.CBBOMsg},
    "tcbbo": {VERSIONS: dbn.CMBP1Msg},
    "bbo-1s": {VERSIONS: dbn.BBOMsg},
    "bbo-1m": {VERSIONS: dbn.BBOMsg},
}


def record_class(schema, version):
    """Raises KeyError if the schema is not listed here."""
    return next(made for versions, made in RECORD_CLASSES[schema].items() if version in versions)


def every_record_class():
    """Yields (schema, version, class) for each schema in each of its versions."""
    for schema, classes in RECORD_CLASSES.items():
        for versions, made in classes.items():
            for version in versions:
                yield schema, version, made


def layout(made):
    """Each field of a record class, including spare bytes: (name, offset, numpy type)."""
    offset = 0
    for name, dtype in made._dtypes:
        yield name, offset, dtype
        offset += int(dtype[1:])


def is_spare(name):
    return name.startswith("_")
