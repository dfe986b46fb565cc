"""WHAT WILL HAPPEN, AND ITS PRICE. Pure: nothing here reads data, draws noise or spends."""
